//! What an endpoint is configured with.

use probity_chat::Model;
use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
use serde_json::json;

fn config() -> EndpointConfig {
    EndpointConfig::new(Api::OpenAi, "https://llm.example/v1", "some-model")
}

fn code(change: impl FnOnce(&mut EndpointConfig)) -> &'static str {
    let mut config = config();
    change(&mut config);
    Endpoint::new(config).unwrap_err().code()
}

#[test]
fn what_cannot_be_used_is_refused() {
    for url in ["", "llm.example/v1", "ftp://llm.example/", "https://me:pass@llm.example/"] {
        assert_eq!(code(|it| it.base_url = url.to_owned()), "model_endpoint_url", "{url}");
    }
    for key in ["", " sk", "sk\n", "schlüssel"] {
        assert_eq!(code(|it| it.key = Some(Secret::new(key))), "model_endpoint_key", "{key}");
    }
    let range = "model_endpoint_range";
    assert_eq!(code(|it| it.timeout_ms = 0), range);
    assert_eq!(code(|it| it.timeout_ms = 3_600_001), range);
    assert_eq!(code(|it| it.max_reply_bytes = 0), range);
    assert_eq!(code(|it| it.max_output_tokens = Some(0)), range);
    assert_eq!(code(|it| it.temperature = Some(2.5)), range);
    assert_eq!(code(|it| it.temperature = Some(f64::NAN)), range);
    assert_eq!(code(|it| it.model = String::new()), range);
    let warm = |it: &mut EndpointConfig| (it.api, it.temperature) = (Api::Anthropic, Some(1.5));
    assert_eq!(code(warm), range);
}

#[test]
fn what_may_be_a_key_in_a_url_is_not_shown() {
    for base in ["https://llm.example/v1?key=sk-1", "https://me:sk-1@llm.example/v1", "sk-1"] {
        let mut config = config();
        config.base_url = base.to_owned();
        assert!(!format!("{config:?}").contains("sk-1"), "{config:?}");
    }
    assert!(format!("{:?}", config()).contains("https://llm.example/v1"));
}

#[test]
fn a_configuration_is_read_without_a_key() {
    let short =
        json!({ "api": "openai", "base_url": "https://llm.example/v1", "model": "some-model" });
    assert_eq!(serde_json::from_value::<EndpointConfig>(short.clone()).unwrap(), config());
    let mut whole = short.clone();
    whole["api"] = json!("anthropic");
    whole["stream"] = json!(true);
    whole["temperature"] = json!(0.5);
    whole["max_output_tokens"] = json!(100);
    whole["timeout_ms"] = json!(5);
    whole["max_reply_bytes"] = json!(6);
    let read: EndpointConfig = serde_json::from_value(whole).unwrap();
    assert_eq!((read.api, read.stream, read.temperature), (Api::Anthropic, true, Some(0.5)));
    assert_eq!((read.max_output_tokens, read.timeout_ms, read.max_reply_bytes), (Some(100), 5, 6));
    let mut with_key = short;
    with_key["key"] = json!("sk-in-a-file");
    assert!(serde_json::from_value::<EndpointConfig>(with_key).is_err());
}

#[test]
fn who_it_is() {
    for (base, identity) in [
        ("https://llm.example/v1", "some-model at https://llm.example/v1/"),
        ("https://llm.example/v1//", "some-model at https://llm.example/v1/"),
        ("https://llm.example", "some-model at https://llm.example/"),
        ("http://127.0.0.1:11434/v1?api-version=1#x", "some-model at http://127.0.0.1:11434/v1/"),
    ] {
        let mut config = config();
        config.base_url = base.to_owned();
        assert_eq!(Endpoint::new(config).unwrap().identity(), identity);
    }
}
