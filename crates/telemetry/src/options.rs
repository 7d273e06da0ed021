//! What the environment says about telemetry: the standard variables, and two of our own.

use std::time::Duration;

use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::trace::Sampler;
use percent_encoding::percent_decode_str;

use crate::{Capture, TelemetryError, TraceParent};

/// The most time that one batch has, retries included. The standard's own default.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often metrics are sent. The standard's own default.
const METRIC_INTERVAL: Duration = Duration::from_secs(60);
/// The most that the environment may set either to.
const MAX_WAIT_MS: u64 = 3_600_000;

/// How telemetry is made and where it goes.
#[derive(Debug, Clone)]
pub struct TelemetryOptions {
    /// Where it is sent; `None` keeps metrics in this process, for [`crate::Telemetry::render`].
    pub otlp: Option<Otlp>,
    /// `service.name` of everything that is sent.
    pub service_name: String,
    /// Further attributes of the resource.
    pub resource: Vec<(String, String)>,
    /// Which traces are sent. Metrics and log events are sent of all.
    pub sampler: Sampler,
    /// How much content is sent.
    pub capture: Capture,
    /// The caller's span, for runs whose request names none.
    pub caller: Option<TraceParent>,
}

/// Where telemetry is sent, by the OpenTelemetry protocol.
#[derive(Clone)]
pub struct Otlp {
    /// How it is spoken.
    pub protocol: Protocol,
    /// Where spans go; `None` sends none.
    pub traces: Option<String>,
    /// Where metrics go; `None` sends none.
    pub metrics: Option<String>,
    /// Where log events go; `None` sends none.
    pub logs: Option<String>,
    /// Headers of every request. Their values are shown nowhere.
    pub headers: Vec<(String, String)>,
    /// The most time that one batch has, retries included.
    pub timeout: Duration,
    /// How often metrics are sent.
    pub metric_interval: Duration,
    /// Whether a metric is sent as its sum or as what was added.
    pub temporality: Temporality,
}

/// How the OpenTelemetry protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Over HTTP, as protobuf.
    Http,
    /// Over gRPC.
    Grpc,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            otlp: None,
            service_name: "probity".to_owned(),
            resource: Vec::new(),
            sampler: Sampler::ParentBased(Box::new(Sampler::AlwaysOn)),
            capture: Capture::Nothing,
            caller: None,
        }
    }
}

impl Otlp {
    /// A receiver at this address, for all three signals.
    #[must_use]
    pub fn at(protocol: Protocol, endpoint: &str) -> Self {
        let place = |path: &str| Some(join(protocol, endpoint, path));
        Self {
            protocol,
            traces: place("v1/traces"),
            metrics: place("v1/metrics"),
            logs: place("v1/logs"),
            headers: Vec::new(),
            timeout: TIMEOUT,
            metric_interval: METRIC_INTERVAL,
            temporality: Temporality::Cumulative,
        }
    }
}

impl TelemetryOptions {
    /// What the environment says; `get` reads one variable. Nothing is sent unless an endpoint is named
    /// or an exporter is asked for: a command that a person runs should not look for a collector.
    ///
    /// # Errors
    /// [`TelemetryError::Config`] where a variable has a value that means nothing.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, TelemetryError> {
        let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let mut options = Self { capture: capture(&get)?, ..Self::default() };
        if let Some(pairs) = get("OTEL_RESOURCE_ATTRIBUTES") {
            options.resource = pairs_of("OTEL_RESOURCE_ATTRIBUTES", &pairs, &pairs)?;
        }
        let named = options.resource.iter().find(|(name, _)| name == "service.name");
        let named = named.map(|(_, value)| value.clone());
        let service = get("OTEL_SERVICE_NAME").or(named);
        options.service_name = service.unwrap_or(options.service_name);
        options.resource.retain(|(name, _)| name != "service.name");
        options.sampler = sampler(&get)?;
        // A header of the caller's that is none is as if there were none: that is the standard's rule.
        options.caller = get("TRACEPARENT").and_then(|text| text.parse().ok());
        let is_off = get("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"));
        options.otlp = if is_off { None } else { otlp(&get)? };
        Ok(options)
    }
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Otlp")
            .field("protocol", &self.protocol)
            .field("traces", &self.traces)
            .field("metrics", &self.metrics)
            .field("logs", &self.logs)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

type Get<'a> = &'a dyn Fn(&str) -> Option<String>;

fn otlp(get: Get<'_>) -> Result<Option<Otlp>, TelemetryError> {
    let protocol = match get("OTEL_EXPORTER_OTLP_PROTOCOL").as_deref() {
        None | Some("http/protobuf") => Protocol::Http,
        Some("grpc") if cfg!(feature = "grpc") => Protocol::Grpc,
        Some(other) => {
            let known = if cfg!(feature = "grpc") {
                "`http/protobuf` or `grpc`"
            } else {
                "`http/protobuf`"
            };
            return Err(wrong(
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                other,
                &format!("it must be {known}"),
            ));
        }
    };
    let endpoint = get("OTEL_EXPORTER_OTLP_ENDPOINT");
    let default = match protocol {
        Protocol::Http => "http://localhost:4318",
        Protocol::Grpc => "http://localhost:4317",
    };
    let base = endpoint.clone().unwrap_or_else(|| default.to_owned());
    let mut otlp = Otlp::at(protocol, &base);
    let signals =
        [("TRACES", &mut otlp.traces), ("METRICS", &mut otlp.metrics), ("LOGS", &mut otlp.logs)];
    for (signal, place) in signals {
        let own = get(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
        let variable = format!("OTEL_{signal}_EXPORTER");
        let is_wanted = match get(&variable).as_deref() {
            Some("none") => false,
            Some("otlp") => true,
            None => own.is_some() || endpoint.is_some(),
            Some(other) => return Err(wrong(&variable, other, "it must be `otlp` or `none`")),
        };
        *place = own.or(place.take()).filter(|_| is_wanted);
    }
    if let Some(headers) = get("OTEL_EXPORTER_OTLP_HEADERS") {
        otlp.headers = pairs_of("OTEL_EXPORTER_OTLP_HEADERS", &headers, "(not shown)")?;
    }
    otlp.timeout = millis(get, "OTEL_EXPORTER_OTLP_TIMEOUT", TIMEOUT)?;
    otlp.metric_interval = millis(get, "OTEL_METRIC_EXPORT_INTERVAL", METRIC_INTERVAL)?;
    let preference = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    if let Some(text) = get(preference) {
        let known = text.parse().map_err(|()| {
            wrong(preference, &text, "it must be `cumulative`, `delta` or `lowmemory`")
        });
        otlp.temporality = known?;
    }
    let is_any = otlp.traces.is_some() || otlp.metrics.is_some() || otlp.logs.is_some();
    Ok(is_any.then_some(otlp))
}

fn sampler(get: Get<'_>) -> Result<Sampler, TelemetryError> {
    let ratio = || match get("OTEL_TRACES_SAMPLER_ARG") {
        None => Ok(1.0),
        Some(text) => match text.parse::<f64>() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
            _ => Err(wrong("OTEL_TRACES_SAMPLER_ARG", &text, "it must be 0 to 1")),
        },
    };
    let below = |sampler| Sampler::ParentBased(Box::new(sampler));
    match get("OTEL_TRACES_SAMPLER").as_deref() {
        None | Some("parentbased_always_on") => Ok(below(Sampler::AlwaysOn)),
        Some("parentbased_always_off") => Ok(below(Sampler::AlwaysOff)),
        Some("parentbased_traceidratio") => Ok(below(Sampler::TraceIdRatioBased(ratio()?))),
        Some("always_on") => Ok(Sampler::AlwaysOn),
        Some("always_off") => Ok(Sampler::AlwaysOff),
        Some("traceidratio") => Ok(Sampler::TraceIdRatioBased(ratio()?)),
        Some(other) => {
            let why = "it must be `always_on`, `always_off`, `traceidratio` or one of them behind \
                       `parentbased_`";
            Err(wrong("OTEL_TRACES_SAMPLER", other, why))
        }
    }
}

fn capture(get: Get<'_>) -> Result<Capture, TelemetryError> {
    match get("PROBITY_OTEL_CAPTURE").as_deref() {
        None | Some("nothing") => Ok(Capture::Nothing),
        Some("names") => Ok(Capture::Names),
        Some("content") => Ok(Capture::Content),
        Some(other) => {
            let why = "it must be `nothing`, `names` or `content`";
            Err(wrong("PROBITY_OTEL_CAPTURE", other, why))
        }
    }
}

fn millis(get: Get<'_>, variable: &str, default: Duration) -> Result<Duration, TelemetryError> {
    let Some(text) = get(variable) else { return Ok(default) };
    match text.parse::<u64>() {
        Ok(millis) if (1..=MAX_WAIT_MS).contains(&millis) => Ok(Duration::from_millis(millis)),
        _ => Err(wrong(variable, &text, "it must be milliseconds, 1 to 3600000")),
    }
}

/// `name=value` pairs behind commas, percent-encoded. What is wrong is told beside what may be shown.
fn pairs_of(
    variable: &str,
    text: &str,
    shown: &str,
) -> Result<Vec<(String, String)>, TelemetryError> {
    let decoded = |part: &str| percent_decode_str(part.trim()).decode_utf8_lossy().into_owned();
    let mut pairs = Vec::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.trim().is_empty())
        else {
            return Err(wrong(variable, shown, "it must be `name=value` pairs behind commas"));
        };
        pairs.push((decoded(name), decoded(value)));
    }
    Ok(pairs)
}

fn join(protocol: Protocol, endpoint: &str, path: &str) -> String {
    match protocol {
        Protocol::Http => format!("{}/{path}", endpoint.trim_end_matches('/')),
        Protocol::Grpc => endpoint.to_owned(),
    }
}

fn wrong(variable: &str, value: &str, why: &str) -> TelemetryError {
    TelemetryError::Config {
        variable: variable.to_owned(),
        value: value.to_owned(),
        why: why.to_owned(),
    }
}
