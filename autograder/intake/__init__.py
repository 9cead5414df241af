"""From the untrusted bytes of a delivery to a clean notebook for each student."""
