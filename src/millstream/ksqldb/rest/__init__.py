"""ksqlDB's REST protocol over a `Service`: paths, media types, streamed formats, websockets."""
