"""The families of documents, one module each."""
