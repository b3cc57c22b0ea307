use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Body;
use serde_json::{Value, json};

use crate::answer::{Answer, json_answer, problem};
use crate::auth::has_key;
use crate::gateway::House;
use crate::proxy::note;
use crate::question::{BadQuestion, Decided, Question};
use crate::record::record;

/// The largest question, in bytes.
const LARGEST_QUESTION: usize = 64 << 10;

impl House {
    /// Answers one request on the API's listener.
    pub(crate) async fn api<B>(&self, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let mut answer = match (path.as_str(), &method) {
            ("/livez", &Method::GET | &Method::HEAD) => text(StatusCode::OK, "alive\n"),
            ("/readyz", &Method::GET | &Method::HEAD) => self.ready(),
            ("/v1/decide", &Method::POST) => self.decide(request).await,
            ("/livez" | "/readyz", _) => wrong_method("GET, HEAD"),
            ("/v1/decide", _) => wrong_method("POST"),
            _ => plain_problem(StatusCode::NOT_FOUND, "known: POST /v1/decide, GET /livez, GET /readyz"),
        };
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }

    fn ready(&self) -> Answer {
        if self.is_draining() {
            json_answer(StatusCode::SERVICE_UNAVAILABLE, &json!({"ready": false, "failing": ["gateway.draining"]}))
        } else {
            json_answer(StatusCode::OK, &json!({"ready": true, "failing": []}))
        }
    }

    async fn decide<B>(&self, request: Request<B>) -> Answer
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        if !self.config.api.as_ref().is_some_and(|api| has_key(&parts.headers, &api.key)) {
            let mut answer =
                plain_problem(StatusCode::UNAUTHORIZED, "Authorization: Bearer with the key of the API is needed");
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"comity\""));
            return answer;
        }
        if self.is_draining() {
            return plain_problem(StatusCode::SERVICE_UNAVAILABLE, "gateway.draining");
        }
        let body = match Limited::new(body, LARGEST_QUESTION).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return plain_problem(StatusCode::PAYLOAD_TOO_LARGE, "a question has 64 KiB at most");
            }
            Err(_) => return plain_problem(StatusCode::BAD_REQUEST, "the question ended early"),
        };
        match self.answer_question(&body).await {
            Ok(record) => json_answer(StatusCode::OK, &record),
            Err(BadQuestion(what)) => plain_problem(StatusCode::BAD_REQUEST, &what),
        }
    }

    async fn answer_question(&self, body: &[u8]) -> Result<Value, BadQuestion> {
        let Decided { url, wishes, ruling, trace_id } = Question::parse(body)?.decide(self).await?;
        note(&ruling, Some(&url));
        let mut record = record(self, &ruling, &url, wishes.as_ref());
        if let (Some(trace_id), Some(members)) = (trace_id, record.as_object_mut()) {
            members.insert("trace_id".to_owned(), trace_id.into());
        }
        Ok(record)
    }
}

fn wrong_method(allowed: &'static str) -> Answer {
    let mut answer = plain_problem(StatusCode::METHOD_NOT_ALLOWED, allowed);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn plain_problem(status: StatusCode, detail: &str) -> Answer {
    let title = status.canonical_reason().unwrap_or("error");
    problem(status, &json!({"type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail}))
}

fn text(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Answer::new(Full::from(text));
    *answer.status_mut() = status;
    answer
}
