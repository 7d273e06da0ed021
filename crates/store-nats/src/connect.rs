//! Opening a connection and holding the servers to what is asked of them.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use async_nats::{AuthError, Client, ConnectErrorKind, ConnectOptions};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::link::{Failure, Link, Pauses};
use crate::options::Login;
use crate::space::Space;
use crate::version::{LEAST, Version};
use crate::{ConnectError, NatsOptions, creds, monitor, schema};

/// How long one server may take to shake hands.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How often the server of a connection may be followed to the next one while an endpoint is looked at.
const MAX_SUCCESSORS: u32 = 3;
/// The longest pause between tries to connect again.
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// What an account may use.
#[derive(Debug, Deserialize)]
struct Account {}

/// All checks, in the order in which they make sense; the first that fails ends it.
pub(crate) async fn open(options: &NatsOptions) -> Result<(Link, Space), ConnectError> {
    options.check()?;
    let end = Instant::now() + options.timeout();
    let client = client(options, end).await?;
    check_version(&client)?;
    let link = Link::new(client, options.timeout());
    check_jetstream(&link, options, end).await?;
    check_cluster(link.client(), options)?;
    require_sync(link.client(), options).await?;
    let space = Space::new(&options.space);
    schema::prepare(&link, &space, options, end).await?;
    Ok((link, space))
}

/// Seen from the server of the connection, which may die meanwhile: then once more from its successor.
async fn require_sync(client: &Client, options: &NatsOptions) -> Result<(), ConnectError> {
    let mut server = client.server_info();
    for _ in 0..MAX_SUCCESSORS {
        match monitor::require_sync(options, &server).await {
            Err(error @ ConnectError::MonitorOther { .. }) => {
                let now = client.server_info();
                if now.server_id == server.server_id {
                    return Err(error);
                }
                server = now;
            }
            other => return other,
        }
    }
    monitor::require_sync(options, &server).await
}

/// Connects to one of the servers; the client keeps the connection from then on.
pub(crate) async fn client(options: &NatsOptions, end: Instant) -> Result<Client, ConnectError> {
    let connecting = settings(options).await?.connect(options.urls());
    let servers = options.servers.join(", ");
    match timeout_at(end, connecting).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(refused(&error, servers)),
        Err(_) => Err(ConnectError::Unreachable { servers, why: "time-out".to_owned() }),
    }
}

pub(crate) fn check_version(client: &Client) -> Result<(), ConnectError> {
    let info = client.server_info();
    if Version::read(&info.version) < LEAST {
        return Err(ConnectError::Version { server: info.server_name, found: info.version });
    }
    Ok(())
}

pub(crate) async fn check_jetstream(
    link: &Link,
    options: &NatsOptions,
    end: Instant,
) -> Result<(), ConnectError> {
    let mut pauses = Pauses::until(end);
    loop {
        match link.api_once::<Account>("INFO", &Value::Null, end).await {
            Ok(_) => return Ok(()),
            // Nobody answers for JetStream: it is off. A cluster that has no leader yet is silent.
            Err(Failure::NotTaken(why)) if !link.client().server_info().jetstream => {
                return Err(ConnectError::NoJetStream { why });
            }
            Err(failure) if failure.may_pass() => {
                if !pauses.pause().await {
                    return Err(schema::failed(&failure, options));
                }
            }
            Err(failure) => return Err(schema::failed(&failure, options)),
        }
    }
}

pub(crate) fn check_cluster(client: &Client, options: &NatsOptions) -> Result<(), ConnectError> {
    if options.replicas > 1 && !options.accept.replicas && client.server_info().cluster.is_none() {
        let why = "the server belongs to no cluster".to_owned();
        return Err(ConnectError::Replicas { wanted: options.replicas, why });
    }
    Ok(())
}

async fn settings(options: &NatsOptions) -> Result<ConnectOptions, ConnectError> {
    let settings = match &options.login {
        Login::Anonymous => ConnectOptions::new(),
        Login::Password { user, password } => {
            ConnectOptions::with_user_and_password(user.clone(), password.clone())
        }
        Login::Token(token) => ConnectOptions::with_token(token.clone()),
        Login::Credentials(path) => with_credentials(path).await?,
    };
    let mut settings = settings
        .name("probity")
        .connection_timeout(HANDSHAKE)
        .require_tls(options.tls)
        .reconnect_delay_callback(|attempts| {
            let doubled = 2_u64.saturating_pow(u32::try_from(attempts).unwrap_or(u32::MAX).min(16));
            Duration::from_millis(doubled.saturating_mul(5)).min(RECONNECT_MAX)
        });
    if let Some(ca) = &options.tls_ca {
        settings = settings.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &options.tls_identity {
        settings = settings.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(settings)
}

async fn with_credentials(path: &Path) -> Result<ConnectOptions, ConnectError> {
    // What is wrong with the file is said at once, whoever answers.
    creds::login(path, Vec::new()).await.map_err(|why| ConnectError::Auth { why })?;
    let path = path.to_owned();
    Ok(ConnectOptions::with_auth_callback(move |nonce| {
        let path = path.clone();
        async move { creds::login(&path, nonce).await.map_err(AuthError::new) }
    }))
}

fn refused(error: &async_nats::ConnectError, servers: String) -> ConnectError {
    let why = chain(error);
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            ConnectError::Auth { why }
        }
        ConnectErrorKind::Tls => ConnectError::Tls { why },
        ConnectErrorKind::ServerParse => ConnectError::Url { what: why },
        // A login that has run out is refused in other words.
        _ if why.contains("uthentication") => ConnectError::Auth { why },
        _ if is_tls(error) => ConnectError::Tls { why },
        _ => ConnectError::Unreachable { servers, why },
    }
}

/// Whether a handshake failed: the client reports it as any other failed read.
fn is_tls(error: &async_nats::ConnectError) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let inner = source.and_then(std::io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<async_nats::rustls::Error>())
}

/// An error with what is behind it, each once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}
