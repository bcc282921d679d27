"""What costs little until it is used; a command is as quick as what it loads."""
