//! Payment (signals reference §10): what an answer asks to be paid. comity never pays by itself.

use crate::found::cut;
use crate::page::named;

/// Bytes kept of a quote.
const MAX_TEXT_BYTES: usize = 200;

/// An answer that withholds the content until somebody pays. It says nothing about purposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentDemand {
    /// Who asks, in what form.
    pub kind: PaymentKind,
    /// The price, when it can be read.
    pub price: Option<Price>,
    /// True when a price is named and cannot be read (`price_unparsable`).
    pub unparsable: bool,
    /// What is to become of the URL.
    pub action: PaymentAction,
}

/// The form of a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaymentKind {
    /// `crawler-price` and `crawler-error` of Cloudflare's pay per crawl.
    Cloudflare,
    /// `WWW-Authenticate: License` of RSL's Crawler Authorization Protocol.
    Rsl,
    /// x402: payment requirements in a `PAYMENT-REQUIRED` field, or only a body.
    X402,
    /// A bare 402.
    Other,
}

/// What is to become of a URL whose answer asks for payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaymentAction {
    /// Nothing is paid, and the URL is not asked again.
    Stop,
    /// The price lies within the operator's budget: whoever pays may do so. comity itself does not.
    MayPay,
    /// The fault is the seller's: the URL may be asked later.
    RetryLater,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Three letters in upper case, as in ISO 4217, or as written by the seller.
    pub currency: String,
    /// A decimal number as written: digits, with a fraction or without.
    pub amount: String,
}

/// The most that an operator would pay for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The highest price, in its currency; others are not converted.
    pub most: Price,
}

impl PaymentDemand {
    /// Reads an answer; `None` when it asks for nothing. Never an error: a price that cannot be read is a demand still.
    #[must_use]
    pub fn read<N: AsRef<str>, V: AsRef<[u8]>>(
        status: u16,
        fields: &[(N, V)],
        budget: Option<&Budget>,
    ) -> Option<Self> {
        let field = |name| named(fields, name).map(|(_, value)| value.trim().to_owned()).next();
        let (quote, error) = (field("crawler-price"), field("crawler-error"));
        let asks_for_licence = named(fields, "www-authenticate").any(|(_, value)| is_licence_challenge(&value));
        let kind = if quote.is_some() || error.is_some() {
            PaymentKind::Cloudflare
        } else if asks_for_licence && matches!(status, 401 | 402) {
            PaymentKind::Rsl
        } else if status == 402 {
            if field("payment-required").is_some() { PaymentKind::X402 } else { PaymentKind::Other }
        } else {
            return None;
        };
        let seller_failed = status >= 500 || error.as_deref().is_some_and(is_sellers_fault);
        if status != 402 && !seller_failed && error.is_none() && kind == PaymentKind::Cloudflare {
            // A price on an answer that gives the content.
            return None;
        }
        let price = quote.as_deref().and_then(Price::read);
        let affordable = price.as_ref().zip(budget).is_some_and(|(price, budget)| price.is_within(&budget.most));
        let action = match () {
            () if seller_failed => PaymentAction::RetryLater,
            () if affordable && status == 402 => PaymentAction::MayPay,
            () => PaymentAction::Stop,
        };
        Some(Self { kind, unparsable: quote.is_some() && price.is_none(), price, action })
    }
}

impl PaymentKind {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cloudflare => "cloudflare",
            Self::Rsl => "rsl",
            Self::X402 => "x402",
            Self::Other => "other",
        }
    }
}

impl PaymentAction {
    /// The name in records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::MayPay => "may_pay",
            Self::RetryLater => "retry_later",
        }
    }
}

impl Price {
    /// Reads `USD 0.01`: currency, white space, decimal.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = cut(text.trim(), MAX_TEXT_BYTES);
        let (currency, amount) = text.split_once([' ', '\t'])?;
        let fits = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_alphabetic());
        Self::new(currency, amount.trim()).filter(|_| fits)
    }

    /// A price of an amount in digits, with a fraction or without.
    #[must_use]
    pub fn new(currency: &str, amount: &str) -> Option<Self> {
        scaled(amount)?;
        Some(Self { currency: currency.to_ascii_uppercase(), amount: amount.to_owned() })
    }

    /// Whether it is no more than `most`, in the same currency.
    #[must_use]
    pub fn is_within(&self, most: &Self) -> bool {
        let fits = |(own, most)| own <= most;
        self.currency == most.currency && scaled(&self.amount).zip(scaled(&most.amount)).is_some_and(fits)
    }
}

/// An amount in units of 10⁻¹². At most 15 digits before the point, and 12 behind.
fn scaled(amount: &str) -> Option<u128> {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
    let digits = |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole, 15) || !digits(fraction, 12) {
        return None;
    }
    format!("{whole}{fraction:0<12}").parse().ok()
}

fn is_licence_challenge(value: &str) -> bool {
    value.split(',').any(|part| {
        let scheme = part.trim_start().split([' ', '\t']).next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("license")
    })
}

/// Codes of the seller's own faults: the only ones that a later request may cure (signals reference §10.1).
fn is_sellers_fault(code: &str) -> bool {
    ["InvalidContentPrice", "InternalError"].iter().any(|known| code.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use PaymentAction::{MayPay, RetryLater, Stop};
    use PaymentKind::{Cloudflare, Other, Rsl, X402};

    #[test]
    fn demands() {
        let budget = Budget { most: Price::new("USD", "0.05").unwrap() };
        type Demand = (PaymentKind, PaymentAction, bool);
        type Row<'a> = (u16, &'a [(&'a str, &'a str)], Option<Demand>);
        let rows: [Row<'_>; 16] = [
            (200, &[], None),
            (200, &[("crawler-charged", "USD 0.01")], None),
            (200, &[("crawler-price", "USD 0.01")], None),
            (402, &[], Some((Other, Stop, false))),
            (402, &[("Crawler-Price", "USD 0.01")], Some((Cloudflare, MayPay, false))),
            (402, &[("crawler-price", "USD 0.050")], Some((Cloudflare, MayPay, false))),
            (402, &[("crawler-price", "usd 0.051")], Some((Cloudflare, Stop, false))),
            (402, &[("crawler-price", "EUR 0.01")], Some((Cloudflare, Stop, false))),
            (402, &[("crawler-price", "a lot")], Some((Cloudflare, Stop, true))),
            (402, &[("crawler-price", "USD 1e-9")], Some((Cloudflare, Stop, true))),
            (402, &[("crawler-price", "USD -1")], Some((Cloudflare, Stop, true))),
            (403, &[("crawler-error", "PaymentFailed")], Some((Cloudflare, Stop, false))),
            (502, &[("crawler-error", "InvalidContentPrice")], Some((Cloudflare, RetryLater, false))),
            (401, &[("WWW-Authenticate", "License error=\"x\"")], Some((Rsl, Stop, false))),
            (402, &[("Payment-Required", "e30=")], Some((X402, Stop, false))),
            (503, &[("retry-after", "1")], None),
        ];
        for (status, fields, wanted) in rows {
            let found = PaymentDemand::read(status, fields, Some(&budget));
            assert_eq!(found.map(|d| (d.kind, d.action, d.unparsable)), wanted, "{status} {fields:?}");
        }
        let unpaid = PaymentDemand::read(402, &[("crawler-price", "USD 0.01")], None).unwrap();
        assert_eq!(unpaid.action, Stop, "without a budget nothing is paid");
    }
}
