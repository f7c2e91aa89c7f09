"""Scenes with what an expert drove and what a planner would have driven: reading, checking, measuring, projecting."""
