/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// HTTP/1.1 in the clear.
    Plain,
    /// HTTP/1.1 over TLS, with a certificate of its own kind.
    Tls,
    /// TLS that never comes about.
    BrokenTls,
    /// HTTP/2 over TLS.
    Http2,
}

/// Declares the scenarios as one table: variant, name, what it does.
macro_rules! scenarios {
    ($($variant:ident, $name:literal, $text:literal;)+) => {
        /// One behaviour of a server.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Scenario {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")] $variant,)+
        }

        impl Scenario {
            /// Every scenario.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name: lower case and hyphens, a label of a host name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it does, for people.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

scenarios! {
    Good, "good", "answers every request with a small page";
    Silent, "silent", "takes the request and never answers";
    HangUp, "hang-up", "hangs up without reading what it is asked";
    ResetAfterRequest, "reset-after-request", "hangs up once it was asked";
    ResetInHead, "reset-in-head", "hangs up within its head";
    SlowHead, "slow-head", "sends its head a byte a second";
    EndlessHead, "endless-head", "sends fields without end";
    EndlessLine, "endless-line", "sends one field without end";
    EndlessInterim, "endless-interim", "sends interim responses without end";
    ManyFields, "many-fields", "sends a head of 2000 fields";
    HugeField, "huge-field", "sends a field of 1 MB";
    FoldedField, "folded-field", "continues a field on the next line, as RFC 9112 §5.2 forbids";
    SplitField, "split-field", "hides a second response in a field, behind bare carriage returns and a NUL";
    NotHttp, "not-http", "greets as a mail server does";
    BinaryNoise, "binary-noise", "sends bytes of no meaning without end";
    TwoLengths, "two-lengths", "gives two lengths that differ";
    NegativeLength, "negative-length", "gives a length below zero";
    LengthAndChunks, "length-and-chunks", "gives a length and chunks, as smugglers do";
    SlowBody, "slow-body", "sends its body a byte a second";
    EndlessBody, "endless-body", "sends a body without end and without a length";
    EndlessChunks, "endless-chunks", "sends chunks without end";
    ResetInBody, "reset-in-body", "hangs up within its body";
    ShortBody, "short-body", "sends less than its length says";
    LongBody, "long-body", "sends more than its length says";
    ChunkNoise, "chunk-noise", "gives the length of a chunk as text of no meaning";
    ChunkOverflow, "chunk-overflow", "gives a chunk the length of 2^68 bytes";
    ChunkExtension, "chunk-extension", "gives a chunk an extension without end";
    EndlessTrailers, "endless-trailers", "sends trailers without end";
    FalseCoding, "false-coding", "calls plain text gzip";
    CutCoding, "cut-coding", "ends a gzip body in its middle";
    UnknownCoding, "unknown-coding", "names a content coding that nobody knows";
    StackedCodings, "stacked-codings", "claims to have coded its body forty times";
    BombGzip, "bomb-gzip", "sends 1 GiB of nothing as gzip";
    BombZlib, "bomb-zlib", "sends 1 GiB of nothing as deflate in a zlib frame";
    BombDeflate, "bomb-deflate", "sends 1 GiB of nothing as bare deflate";
    BombBrotli, "bomb-brotli", "sends 1 GiB of nothing as br";
    BombZstd, "bomb-zstd", "sends 1 GiB of nothing as zstd";
    BombGzipGzip, "bomb-gzip-gzip", "sends 1 GiB of nothing as gzip in gzip";
    BombZstdBrotli, "bomb-zstd-brotli", "sends 1 GiB of nothing as zstd in br";
    RedirectLoop, "redirect-loop", "redirects to itself";
    RedirectFile, "redirect-file", "redirects to a file of the machine";
    RedirectScript, "redirect-script", "redirects to a script";
    RedirectRing, "redirect-ring", "redirects to and fro between two pages";
    RedirectPrivate, "redirect-private", "redirects to the machine's own network, by an odd spelling of its address";
    RedirectDecimal, "redirect-decimal", "redirects there, by the address as one decimal number";
    RedirectOctal, "redirect-octal", "redirects there, by the address in octal digits";
    RedirectShort, "redirect-short", "redirects there, by an address of two parts";
    RedirectMapped, "redirect-mapped", "redirects there, by the address as an IPv6 one";
    RedirectLinkLocal, "redirect-link-local", "redirects to the address at which clouds tell secrets";
    RedirectName, "redirect-name", "redirects there, by a name";
    RedirectRebind, "redirect-rebind", "redirects to a name that is public when first asked for, and the machine's own after";
    TlsExpired, "tls-expired", "shows a certificate whose time is over";
    TlsWrongName, "tls-wrong-name", "shows the certificate of another";
    TlsSelfSigned, "tls-self-signed", "shows a certificate that nobody signed";
    TlsNoise, "tls-noise", "answers the handshake with a web page";
    TlsSilent, "tls-silent", "never answers the handshake";
    TlsSlow, "tls-slow", "sends its part of the handshake a byte a second";
    TlsReset, "tls-reset", "hangs up within the handshake";
    Http2Good, "http2-good", "answers every request with a small page, by HTTP/2";
    Http2Silent, "http2-silent", "takes the request by HTTP/2 and never answers";
    Http2SlowHead, "http2-slow-head", "sends its head by HTTP/2 a byte a second";
    Http2SlowBody, "http2-slow-body", "sends its body by HTTP/2 a byte a second";
    Http2HangUp, "http2-hang-up", "hangs up once it was asked by HTTP/2";
    Http2ResetInBody, "http2-reset-in-body", "hangs up within its body by HTTP/2";
    Http2ShortBody, "http2-short-body", "sends less by HTTP/2 than its length says";
    Http2RapidReset, "http2-rapid-reset", "resets the stream, again and again";
    Http2Oversized, "http2-oversized", "sends a frame larger than allowed";
    Http2Goaway, "http2-goaway", "says goodbye without end";
    Http2Settings, "http2-settings", "changes its settings without end";
    Http2Ping, "http2-ping", "pings without end";
    Http2Window, "http2-window", "opens its window without end";
    Http2Unknown, "http2-unknown", "sends frames of a kind that nobody knows, without end";
    Http2Continuation, "http2-continuation", "continues its head without end";
    Http2HeaderBomb, "http2-header-bomb", "sends a head of 16 kB that decodes to 50 MB";
    Http2EmptyData, "http2-empty-data", "sends empty pieces of its body without end";
    Http2EndlessBody, "http2-endless-body", "sends a body without end, and more than the window allows";
    Http2Push, "http2-push", "pushes what nobody asked for";
    Http2Noise, "http2-noise", "sends bytes of no meaning in place of frames";
}

impl Scenario {
    /// What its server speaks.
    #[must_use]
    pub fn speech(self) -> Speech {
        match self {
            Self::TlsNoise | Self::TlsSilent | Self::TlsSlow | Self::TlsReset => Speech::BrokenTls,
            Self::TlsExpired | Self::TlsWrongName | Self::TlsSelfSigned => Speech::Tls,
            _ if self >= Self::Http2Good => Speech::Http2,
            _ => Speech::Plain,
        }
    }

    /// The host name that stands for it in memory, and in its certificate.
    #[must_use]
    pub fn host(self) -> String {
        format!("{}.hostile.test", self.name())
    }

    /// True for those that inflate.
    #[must_use]
    pub fn is_bomb(self) -> bool {
        (Self::BombGzip..=Self::BombZstdBrotli).contains(&self)
    }

    /// True for those whose trouble begins before a request can reach them.
    #[must_use]
    pub fn is_before_request(self) -> bool {
        self == Self::HangUp || matches!(self.speech(), Speech::Tls | Speech::BrokenTls)
    }

    pub(super) fn is_redirect(self) -> bool {
        (Self::RedirectLoop..=Self::RedirectRebind).contains(&self)
    }

    pub(super) fn is_of_head(self) -> bool {
        (Self::Silent..=Self::LengthAndChunks).contains(&self)
    }
}
