"""Sites on which some parameters matter and some do not, each with the truth about its URLs."""
