use comity_fetch::{Fetched, Method, Request, ResponseHead, Sink, Want};
use comity_policy::{Capture, Errand, Permit, Protocol, Reason};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{Response, StatusCode, Version};
use http_body_util::Full;

use crate::answer::Answer;
use crate::fields::{of_request, of_response};
use crate::gateway::House;
use crate::proxy::note;
use crate::ruling::{Objection, Ruling};

/// The body goes on in its coding: nobody here reads it decoded.
struct Undecoded;

impl Sink for Undecoded {
    fn head(&mut self, _head: &ResponseHead<'_>) -> Want {
        Want::Body
    }

    fn chunk(&mut self, _decoded: &[u8]) {}

    #[expect(clippy::disallowed_methods, reason = "it goes on to the client that asked for it")]
    fn keep(&mut self, _read: comity_fetch::Read) -> comity_fetch::Keep {
        comity_fetch::Keep::unjudged()
    }
}

impl House {
    /// Sends the judged request and gives the site's answer, its body in the coding in which it came.
    pub(crate) async fn forward(&self, permit: Permit, parts: &Parts) -> Result<Answer, Ruling> {
        let ruling = match permit.errand() {
            Errand::Judged(decision) => Ruling::allow(self.next_id(), decision.clone()),
            Errand::Robots { .. } => return Err(self.later(Reason::PermitStale, None)),
        };
        note(&ruling, Some(permit.url()));
        let is_head = parts.method == http::Method::HEAD;
        let request = Request {
            method: if is_head { Method::Head } else { Method::Get },
            fields: Some(of_request(&parts.headers, parts.version, &self.config.name)),
            ..Request::default()
        };
        let Fetched { capture, receipt, outcome } = self.fetcher.fetch_with(permit, &request, &mut Undecoded).await;
        if let Some(receipt) = receipt {
            let _paced = self.gate.settle(receipt, outcome);
        }
        match capture.fault {
            // An unknown or broken coding is the customer's affair: the bytes are whole.
            None | Some(Reason::FetchCoding) => self.answer(&capture, is_head),
            Some(fault) => Err(fault),
        }
        .map_err(|fault| self.fault(ruling, fault))
    }

    /// The site's answer, re-framed.
    fn answer(&self, capture: &Capture, is_head: bool) -> Result<Answer, Reason> {
        let status =
            capture.status.and_then(|status| StatusCode::from_u16(status).ok()).ok_or(Reason::FetchProtocol)?;
        let body = capture.body.to_bytes().map_err(|_| Reason::FetchReset)?;
        let body = self.room.lay(body).ok_or(Reason::ConcTotal)?;
        let version = if capture.protocol == Protocol::Http10 { Version::HTTP_10 } else { Version::HTTP_11 };
        let mut answer = Response::new(Full::new(body));
        *answer.status_mut() = status;
        *answer.headers_mut() = of_response(&capture.fields, version, &self.config.name);
        // To a HEAD it says how long the body would be; elsewhere the server writes its own.
        if !is_head {
            answer.headers_mut().remove(CONTENT_LENGTH);
        }
        Ok(answer)
    }

    /// What went wrong on the way to the site, under the name of the decision that let it through.
    fn fault(&self, ruling: Ruling, fault: Reason) -> Ruling {
        let Ruling { id, .. } = ruling;
        match fault {
            // The peer that would have taken it had no turn and nothing was sent; or there is no room for the answer.
            Reason::RateAddress | Reason::ConcAddress | Reason::PermitStale | Reason::ConcTotal => {
                Ruling { id, ..self.later(fault, Some(RETRY)) }
            }
            fault => Ruling::object(id, Objection::new(fault, fault.text())),
        }
    }
}

/// When to come back where no clock names an instant.
const RETRY: std::time::Duration = std::time::Duration::from_secs(1);
