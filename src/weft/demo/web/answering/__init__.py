"""From requests to responses: what every site says, and how."""
