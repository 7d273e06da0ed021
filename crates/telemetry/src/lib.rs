//! Traces, metrics and logs of delegations, over OpenTelemetry.
