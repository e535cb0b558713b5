"""What is wrong with an answer before its installer finds it."""
