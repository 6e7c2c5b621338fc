"""What holds bodies: rolling wheels, closed loops, grasps. Empty until the constraint engine comes."""
