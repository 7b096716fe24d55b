"""The main job on real photographs, as a person would do it by hand."""
