"""Finding memories for a query: its analysis, the channels, relevance, and the pipeline that joins them."""
