"""What can be typed in a chat instead of a question: ``/help`` and others, for every interface."""
