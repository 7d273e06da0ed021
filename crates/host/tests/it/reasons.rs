//! The envelope of whatever goes wrong.

use std::collections::HashSet;

use axum::response::IntoResponse;
use jsonschema::Validator;
use probity_host::{Failure, Reason, schema};

#[test]
fn every_reason_is_a_closed_envelope_with_a_status_of_its_own_kind() {
    let shape: Validator = jsonschema::validator_for(&schema("Error")).unwrap();
    let mut seen = HashSet::new();
    for reason in Reason::ALL {
        assert!(seen.insert(reason), "{reason:?} is listed twice");
        let failure = Failure::new(reason, "why").detail("place", 3);
        assert!(shape.is_valid(&failure.to_json()), "{reason:?}");
        assert!(shape.is_valid(&Failure::new(reason, "why").to_json()), "{reason:?}");
        let response = failure.into_response();
        assert!(response.status().is_client_error() || response.status().is_server_error());
        assert_eq!(response.headers()["content-type"], "application/json");
        let is_busy = [409, 429, 503].contains(&response.status().as_u16());
        assert!(is_busy || !response.headers().contains_key("retry-after"), "{reason:?}");
    }
}

#[test]
fn statuses_are_those_of_the_wire() {
    for (reason, status) in [
        (Reason::Unauthenticated, 401),
        (Reason::Forbidden, 403),
        (Reason::Validation, 400),
        (Reason::TooLarge, 413),
        (Reason::NotFound, 404),
        (Reason::IdempotencyKeyMismatch, 409),
        (Reason::UnsupportedStreamMode, 400),
        (Reason::InterruptExpired, 410),
        (Reason::ForkPointInvalid, 422),
        (Reason::CapabilityNotProvided, 501),
        (Reason::RateLimited, 429),
        (Reason::ReplayDivergedAtRefusal, 422),
    ] {
        assert_eq!(reason.status().as_u16(), status, "{reason:?}");
    }
}
