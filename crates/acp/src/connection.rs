//! A connection to a running agent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    CancelNotification, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, SessionNotification,
};
use agent_client_protocol::v1::{ConnectionTo, Dispatch, Responder};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcRequest, Lines, UntypedMessage, is_connection_terminated,
    is_incoming_transport_closed, on_receive_dispatch,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::codec::{FramedRead, FramedWrite};
use tokio_util::task::AbortOnDropHandle;

use crate::lines::{FromAgent, ToAgent, Traffic};
use crate::permissions::Wish;
use crate::transcript::{Bounds, Transcript};

/// Requests for permission that wait at once. More are told that the prompt is over.
const MAX_WAITING_ASKS: usize = 64;

/// How long an agent tells nothing once it has told all.
const QUIET: Duration = Duration::from_millis(250);

/// The client's side of a connection. Dropping it ends the connection; what is behind it is not ended
/// by that.
#[derive(Debug)]
pub(crate) struct Connection {
    peer: ConnectionTo<Agent>,
    shared: Arc<Shared>,
    asks: mpsc::Receiver<Ask>,
    _driver: AbortOnDropHandle<()>,
}

/// The agent asks for permission. It waits for [`Ask::answer`].
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) request: RequestPermissionRequest,
    pub(crate) wish: Wish,
    responder: Responder<Value>,
}

/// The end of a prompt turn.
#[derive(Debug)]
pub(crate) struct Turned {
    /// The agent's answer, with what of it this protocol version does not name.
    pub(crate) response: Result<Value, Error>,
    /// What came before it.
    pub(crate) transcript: Transcript,
}

#[derive(Debug)]
struct Shared {
    traffic: Arc<Traffic>,
    /// The turn that is going on. Updates outside of one are replays, and belong to no claim.
    turn: Mutex<Option<(SessionId, Transcript)>>,
    /// Updates so far, in a turn or not.
    updates: AtomicUsize,
}

impl Shared {
    fn turn(&self) -> MutexGuard<'_, Option<(SessionId, Transcript)>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Speaks over a pair of streams. `None` when that fails at once.
    pub(crate) async fn open<R, W>(from: R, to: W) -> Option<Self>
    where
        R: AsyncRead + Send + 'static,
        W: AsyncWrite + Send + 'static,
    {
        let traffic = Arc::new(Traffic::default());
        let shared = Arc::new(Shared {
            traffic: Arc::clone(&traffic),
            turn: Mutex::new(None),
            updates: AtomicUsize::new(0),
        });
        let transport = Lines::new(
            FramedWrite::new(to, ToAgent::new(Arc::clone(&traffic))),
            FramedRead::new(from, FromAgent::new(traffic)),
        );
        let (ask, asks) = mpsc::channel(MAX_WAITING_ASKS);
        let (ready, peer) = oneshot::channel();
        let listening = Arc::clone(&shared);
        let served = Client
            .v1()
            .on_receive_dispatch(
                async move |message: Dispatch, _peer: ConnectionTo<Agent>| {
                    receive(&listening, &ask, message)
                },
                on_receive_dispatch!(),
            )
            .connect_with(transport, async move |peer: ConnectionTo<Agent>| {
                let _ = ready.send(peer.clone());
                peer.incoming_closed().await;
                Ok(())
            });
        let driver = tokio::spawn(async move {
            // Why it ended is told to whoever waits for an answer.
            let _ = served.await;
        });
        let driver = AbortOnDropHandle::new(driver);
        Some(Self { peer: peer.await.ok()?, shared, asks, _driver: driver })
    }

    /// Asks for one thing and waits for the answer.
    pub(crate) async fn call<R: JsonRpcRequest>(&self, request: R) -> Result<R::Response, Error> {
        self.peer.send_request(request).block_task().await
    }

    /// Waits until the agent has told nothing for a while. Some answer that a session is loaded while
    /// they still tell what was said in it; in a turn that would be taken for what is said now.
    pub(crate) async fn quiet(&self) {
        let mut before = self.shared.updates.load(Ordering::Relaxed);
        loop {
            sleep(QUIET).await;
            let now = self.shared.updates.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// Begins a turn. The channel gives its end; it is closed when the connection breaks.
    pub(crate) fn prompt(
        &mut self,
        request: &PromptRequest,
        bounds: Bounds,
    ) -> Result<oneshot::Receiver<Turned>, Error> {
        // Left from an earlier turn.
        while let Ok(ask) = self.asks.try_recv() {
            ask.answer(RequestPermissionOutcome::Cancelled);
        }
        let message = UntypedMessage::new("session/prompt", request)?;
        let session = request.session_id.clone();
        *self.shared.turn() = Some((session, Transcript::new(bounds)));
        let (tell, told) = oneshot::channel();
        let shared = Arc::clone(&self.shared);
        // In order: every update before the answer is in the transcript, none behind it.
        self.peer.prepare_request(message).on_receiving_result(async move |response| {
            if let Some((_, transcript)) = shared.turn().take() {
                let _ = tell.send(Turned { response, transcript });
            }
            Ok(())
        })?;
        Ok(told)
    }

    /// The next request for permission; never when there is none.
    pub(crate) async fn asked(&mut self) -> Ask {
        match self.asks.recv().await {
            Some(ask) => ask,
            None => std::future::pending().await,
        }
    }

    /// Tells the agent to stop its turn.
    pub(crate) fn cancel(&self, session: &SessionId) {
        // A connection that is broken has nothing to stop.
        let _ = self.peer.send_notification(CancelNotification::new(session.clone()));
    }

    /// Whether the agent can still answer.
    pub(crate) fn is_up(&self) -> bool {
        !self.peer.is_incoming_closed() && self.peer.termination().is_none()
    }

    /// Why it was given up from this side, if it was.
    pub(crate) fn fault(&self) -> Option<String> {
        self.shared.traffic.fault()
    }

    /// The first line of the agent that was no message.
    pub(crate) fn first_foreign(&self) -> Option<String> {
        self.shared.traffic.first_foreign()
    }
}

/// Whether an error is the connection's, not the agent's.
pub(crate) fn is_broken(error: &Error) -> bool {
    is_connection_terminated(error) || is_incoming_transport_closed(error)
}

impl Ask {
    /// Answers. An agent that is gone is not told.
    pub(crate) fn answer(self, outcome: RequestPermissionOutcome) {
        answer(self.responder, outcome);
    }
}

fn answer(responder: Responder<Value>, outcome: RequestPermissionOutcome) {
    let response = serde_json::to_value(RequestPermissionResponse::new(outcome));
    let _ = match response {
        Ok(response) => responder.respond(response),
        Err(error) => responder.respond_with_internal_error(error),
    };
}

/// Takes one message of the agent. Files and terminals are not offered to it, so it is told that there
/// are no such methods.
fn receive(shared: &Shared, asks: &mpsc::Sender<Ask>, message: Dispatch) -> Result<(), Error> {
    match message {
        Dispatch::Notification(message) if message.method() == "session/update" => {
            // Kinds of updates that this version does not know are passed over.
            let (_, params) = message.into_parts();
            shared.updates.fetch_add(1, Ordering::Relaxed);
            if let Ok(notification) = serde_json::from_value::<SessionNotification>(params)
                && let Some((session, transcript)) = shared.turn().as_mut()
                && *session == notification.session_id
            {
                transcript.update(notification.update);
            }
            Ok(())
        }
        Dispatch::Notification(_) => Ok(()),
        Dispatch::Request(message, responder)
            if message.method() == "session/request_permission" =>
        {
            let (_, params) = message.into_parts();
            let request: RequestPermissionRequest = match serde_json::from_value(params) {
                Ok(request) => request,
                Err(_) => return responder.respond_with_error(Error::invalid_params()),
            };
            let wish = match shared.turn().as_mut() {
                Some((session, transcript)) if *session == request.session_id => {
                    Some(transcript.ask(request.tool_call.clone()))
                }
                _ => None,
            };
            let Some(wish) = wish else {
                answer(responder, RequestPermissionOutcome::Cancelled);
                return Ok(());
            };
            if let Err(full) = asks.try_send(Ask { request, wish, responder }) {
                full.into_inner().answer(RequestPermissionOutcome::Cancelled);
            }
            Ok(())
        }
        Dispatch::Request(_, responder) => responder.respond_with_error(Error::method_not_found()),
        Dispatch::Response(result, router) => router.route_with_result(result),
    }
}
