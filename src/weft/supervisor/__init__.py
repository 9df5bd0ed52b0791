"""All roles of one machine: started, watched, restarted, and stopped in order."""
