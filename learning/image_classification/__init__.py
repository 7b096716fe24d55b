"""Image classification: one picture, one class. The plug-in is in plugin.py."""
