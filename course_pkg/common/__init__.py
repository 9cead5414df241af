"""What every part of the package may use: checks of arguments, files, devices."""
