//! `http:URL`: what a GET answers.
//!
//! | Situation | Result |
//! |---|---|
//! | a status outside `status` (2xx where absent) | revise `http_status` |
//! | the body lacks a text or does not match | revise `http_body` |
//! | the body is not JSON or an object in it holds a key twice, and `pointer` or `equals` is asked for | revise `http_json` |
//! | no value at `pointer`, or another than `equals` | revise `http_value` |
//! | not found, but the body is longer than what is read of it | inconclusive `content_cut` |
//! | no name, no connection, no answer in time, a broken answer, too many redirects | inconclusive with the code of [`EgressError`](probity_egress::EgressError) |
//! | host, port or address not allowed, a redirect to such a one included; a bad URL | fault `egress_denied`, `egress_bad_url` |
//!
//! Redirects are followed; the status is that of the last answer.

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};
use probity_egress::{Client, Request, Response};

use super::content::{Content, Words};
use super::tally::Tally;
use super::{cancelled, document, first_words};
use crate::hash::digest_of;
use crate::spec::{HttpSpec, SpecError, StatusSet};
use crate::{CheckContext, Verifier};

const WORDS: Words =
    Words { contains: "body_contains", matches: "body_matches", code: "http_body" };

/// The effect `http`.
#[derive(Debug)]
pub struct Http {
    spec: HttpSpec,
    status: StatusSet,
    content: Content,
    client: Client,
}

impl Http {
    /// The effect of a spec.
    ///
    /// # Errors
    /// [`SpecError::Regex`] when a pattern does not compile.
    pub fn new(spec: HttpSpec, client: Client) -> Result<Self, SpecError> {
        let content = Content::new(WORDS, &spec.body_contains, &spec.body_matches)?;
        let status = spec.status.clone().unwrap_or_default();
        Ok(Self { spec, status, content, client })
    }

    fn judge(&self, response: &Response) -> Verdict {
        let url = first_words(&self.spec.url, 200);
        let mut tally = Tally::default();
        let cut = if response.truncated { ", cut" } else { "" };
        let observed = format!("status {}, {} bytes{cut}", response.status, response.body.len());
        let evidence = Evidence::new(format!("http:{url}"), observed);
        tally.saw(evidence.with_digest(digest_of(&response.body)));
        tally.key("status");
        if !self.status.contains(response.status) {
            let reason = format!(
                "`{url}` answers with status {}, expected {}",
                response.status, self.status
            );
            tally.miss("http_status", reason);
        }
        let what = format!("the body of `{url}`");
        self.content.judge(&what, &[&response.body], !response.truncated, &mut tally);
        self.value(&what, response, &mut tally);
        tally.verdict()
    }

    fn value(&self, what: &str, response: &Response, tally: &mut Tally) {
        let (pointer, equals) = (self.spec.pointer.as_deref(), self.spec.equals.as_ref());
        if pointer.is_none() && equals.is_none() {
            return;
        }
        match document::read(&response.body) {
            Ok(body) => document::judge(what, "http_value", &body, pointer, equals, tally),
            Err(_) if response.truncated => tally.cannot_tell(
                "content_cut",
                format!("{what} is longer than what is read of it, so it cannot be read as JSON"),
            ),
            Err(error) => tally.miss("http_json", format!("{what} is not JSON: {error}")),
        }
    }
}

#[async_trait]
impl Verifier for Http {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let mut request = Request::get(self.spec.url.as_str());
        request.timeout = Some(ctx.timeout);
        match self.client.send(&request, &ctx.cancel).await {
            Ok(response) => Ok(self.judge(&response)),
            Err(_) if ctx.cancel.is_cancelled() => Ok(cancelled()),
            Err(error) if error.is_no_answer() => {
                Ok(Verdict::inconclusive(error.code(), error.to_string()))
            }
            Err(error) => Err(Fault::new(error.code(), error.to_string())),
        }
    }

    fn red_timeout(&self, timeout: Duration) -> Duration {
        timeout.min(super::RED_TIMEOUT)
    }
}
