"""What all pages share: the shell around them, escaped markup, and the way to the workspace."""
