"""tanner-1998: mobile manipulators and the reactions that the ground can really give."""
