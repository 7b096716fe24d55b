"""Pretrained networks that turn a sample into features: how they are built once, and how they are run."""
