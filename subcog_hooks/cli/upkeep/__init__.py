"""The state of the store as a whole: what there is, what is stale, what a person should look at."""
