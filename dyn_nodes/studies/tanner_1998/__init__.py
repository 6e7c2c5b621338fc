"""tanner-1998: mobile manipulators and admissible ground reactions."""
