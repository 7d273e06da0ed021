//! Chat models behind an HTTP endpoint: OpenAI-compatible and Anthropic.
