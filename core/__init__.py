"""Oddyssey's engine: what to test next, and why. Never imports Streamlit."""

__version__ = "0.1.0"
