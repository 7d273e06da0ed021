use probity_core::HookPoint;
use probity_policy::HookEvent;

#[test]
fn every_event_has_one_spelling_one_place_and_one_kind() {
    let table = [
        ("delegation.pre", Some(HookPoint::DelegationPre), false),
        ("attempt.start", Some(HookPoint::AttemptStart), false),
        ("tool.pre", None, true),
        ("tool.post", None, true),
        ("delegation.post_verify", None, true),
        ("attempt.end", Some(HookPoint::AttemptEnd), false),
        ("delegation.post", Some(HookPoint::DelegationPost), false),
        ("custom.x", None, false),
    ];
    for (text, point, is_check) in table {
        let event: HookEvent = text.parse().unwrap();
        assert_eq!(event.to_string(), text);
        assert_eq!(event.point(), point, "{text}");
        assert_eq!(event.is_check(), is_check, "{text}");
        assert_eq!(serde_json::to_value(&event).unwrap(), text);
        assert_eq!(serde_json::from_value::<HookEvent>(text.into()).unwrap(), event);
    }
    let closed = table.iter().map(|row| row.0.parse().unwrap()).take(7).collect::<Vec<HookEvent>>();
    assert_eq!(closed, HookEvent::ALL);
}

#[test]
fn every_point_of_the_machine_has_an_event_of_its_name() {
    for point in HookPoint::ALL {
        let event: HookEvent = point.as_str().parse().unwrap();
        assert_eq!(event.point(), Some(point));
    }
}

#[test]
fn a_near_miss_is_told_what_was_meant() {
    let table = [
        ("delegate.pre", "delegation.pre"),
        ("delegate.post", "delegation.post"),
        ("delegate.post_verify", "delegation.post_verify"),
        ("post_verify", "delegation.post_verify"),
        ("post-verify", "delegation.post_verify"),
        ("delegation.postverify", "delegation.post_verify"),
        ("delegation_post_verify", "delegation.post_verify"),
        ("Delegation.Pre", "delegation.pre"),
        ("delegation.pre ", "delegation.pre"),
        ("tools.pre", "tool.pre"),
        ("tool.psot", "tool.post"),
        ("turn.start", "attempt.start"),
        ("turn.end", "attempt.end"),
        ("agent.start", "attempt.start"),
    ];
    for (text, meant) in table {
        let error = text.parse::<HookEvent>().unwrap_err().to_string();
        assert!(error.ends_with(&format!("did you mean `{meant}`?")), "{text}: {error}");
    }
}

#[test]
fn what_is_near_to_nothing_is_told_the_whole_list() {
    for text in ["", "x", "session", "meta.call_tool", "agent.stop", &"a".repeat(10_000)] {
        let error = text.parse::<HookEvent>().unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{text}: {error}");
        for event in HookEvent::ALL {
            assert!(error.contains(&format!("`{event}`")), "{error}");
        }
        assert!(error.contains("custom."), "{error}");
        assert!(error.len() < 500, "{error}");
    }
}

#[test]
fn custom_events_have_a_name_of_1_to_64_characters() {
    let longest = format!("custom.{}", "a".repeat(64));
    for text in ["custom.a", "custom.my_event-1.x", "custom..", longest.as_str()] {
        assert_eq!(text.parse::<HookEvent>().unwrap().to_string(), text);
    }
    let too_long = format!("custom.{}", "a".repeat(65));
    for text in ["custom.", "custom.A", "custom.a b", "custom.ü", too_long.as_str()] {
        let error = text.parse::<HookEvent>().unwrap_err().to_string();
        assert!(error.contains("1 to 64 characters of a-z 0-9 _ . -"), "{text}: {error}");
    }
    assert!("custom".parse::<HookEvent>().is_err());
}
