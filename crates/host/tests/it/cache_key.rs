//! Names of calls to models.

use probity_host::cache_key;
use serde_json::json;

#[test]
fn a_call_is_named_by_what_it_asks() {
    let call =
        json!({"provider": "p", "model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let name = cache_key(&call).unwrap();
    assert_eq!(name.len(), 64);
    let same = json!({"messages": [{"content": "hi", "role": "user"}], "stream": true,
        "metadata": {"a": 1}, "user": "u", "timeoutMs": 5, "model": "m", "provider": "p", "seed": null});
    assert_eq!(cache_key(&same), Some(name.clone()));
    for (member, value) in
        [("seed", json!(1)), ("stop", json!(["x"])), ("maxOutputTokens", json!(5))]
    {
        let mut other = call.clone();
        other[member] = value;
        assert_ne!(cache_key(&other), Some(name.clone()), "{member}");
    }
}

#[test]
fn what_is_no_call_has_no_name() {
    for call in [
        json!({}),
        json!([]),
        json!({"provider": "p", "model": "m"}),
        json!({"provider": "", "model": "m", "messages": []}),
        json!({"provider": "p", "model": 3, "messages": []}),
    ] {
        assert_eq!(cache_key(&call), None, "{call}");
    }
}
