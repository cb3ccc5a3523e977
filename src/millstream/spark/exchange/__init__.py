"""What goes from one wave to the next, in the forms that both sides know."""
