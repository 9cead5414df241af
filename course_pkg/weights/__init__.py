"""Weights that are kept: folders of trained models, models that ship, published ones."""
