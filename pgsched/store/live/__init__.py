"""Claims, renews, settles, releases and takes back live rows."""
