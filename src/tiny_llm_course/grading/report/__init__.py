"""What a run says to its author, and to the programs of a teacher."""
