"""Make the packaged models: `build_document_model`, `build_query_encoder` and `build_multilingual_encoder`."""
