"""Make the packaged models: `build_document_model` and `build_query_encoder`."""
