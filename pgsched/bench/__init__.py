"""Measurements that anybody can repeat: each prints one JSON object and asserts by identity that nothing was lost."""
