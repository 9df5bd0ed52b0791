"""What tests share: worlds, drivers, servers, strategies. Import it as `from support import …`."""
