"""What has to hold before a change goes in, and what of it is known to hold still."""
