"""The relations: numbered migrations, each for all engines, some with more for one of them."""
