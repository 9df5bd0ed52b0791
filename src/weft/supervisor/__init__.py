"""All roles of one machine under one roof: started, watched, started again, and stopped in order."""
