"""Export formats, one file a platform: a module here that defines FORMATS is found by itself."""
