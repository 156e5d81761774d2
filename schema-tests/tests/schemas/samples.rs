//! Types with everything that `schemars` makes of real ones, and values of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroI16, NonZeroI64, NonZeroU32},
    time::Duration,
};

use proptest::{collection, option, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

macro_rules! types {
    ($($(#[$attribute:meta])* $kind:ident $name:ident $rest:tt)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        $(#[$attribute])*
        pub(super) $kind $name $rest
    )*};
}

types! {
    /// A place on earth.
    struct Place {
        /// Its name, in English.
        name: String,
        /// What it is close to.
        near: Option<Coordinates>,
    }
    struct Coordinates {
        /// North of the equator.
        latitude: f64,
        longitude: f32,
    }
    #[derive(Eq, PartialOrd, Ord)]
    enum Level {
        /// Nothing happens.
        Low,
        High,
    }
    #[derive(Eq)]
    enum Bare {
        Yes,
        No,
    }
    enum Shape {
        /// No extent.
        Point,
        Circle(u32),
        Square(i32, i32),
        Polygon {
            sides: i16,
            #[serde(default)]
            filled: bool,
        },
        Maybe(Option<u8>),
    }
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Step {
        Wait,
        /// Go there.
        Walk { meters: u32 },
        Visit(Coordinates),
    }
    #[serde(tag = "kind", content = "data")]
    enum Reply {
        None,
        Count(u32),
        Text { text: String },
    }
    #[serde(untagged)]
    enum Loose {
        Count(i64),
        Text(String),
        Named { name: String },
        Many(Vec<u8>),
        Nothing,
    }
    struct Flat {
        x: i32,
        #[serde(flatten)]
        at: Coordinates,
        #[serde(flatten)]
        step: Next,
    }
    #[serde(tag = "next")]
    enum Next {
        Stop,
        Go { speed: u8 },
    }
    #[serde(tag = "also")]
    enum Also {
        Rest,
        Eat { what: String },
    }
    struct TwoFlat {
        #[serde(flatten)]
        next: Next,
        #[serde(flatten)]
        also: Also,
    }
    struct FlatOption {
        x: i32,
        #[serde(flatten)]
        at: Option<Coordinates>,
    }
    struct Settings {
        #[serde(default)]
        retries: u32,
        #[serde(default = "three")]
        limit: u64,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        level: Option<Level>,
        /// How it looks.
        shape: Option<Shape>,
        #[serde(default)]
        inner: Inner,
    }
    #[derive(Default)]
    #[serde(default)]
    struct Inner {
        depth: u8,
        name: String,
    }
    #[serde(deny_unknown_fields)]
    struct Closed {
        x: i8,
        #[serde(default)]
        y: u16,
    }
    struct Numbers {
        small: i8,
        byte: u8,
        word: u32,
        long: u64,
        size: usize,
        positive: NonZeroU32,
        /// How far.
        distance: NonZeroI16,
        back: Option<NonZeroI64>,
        real: f64,
    }
    struct Texts {
        text: String,
        letter: char,
        boxed: Box<str>,
        flag: bool,
        unit: (),
    }
    struct Sets {
        names: BTreeSet<String>,
        three: [u8; 3],
        none: [u8; 0],
    }
    struct Pair {
        same: (f64, f64),
        one: (u8,),
        maybe: Option<(u8, u8)>,
    }
    enum Mixed {
        Pair(u8, String),
        Labelled { labels: (String, bool) },
    }
    struct Prices {
        by_name: BTreeMap<String, u8>,
    }
    struct ByLevel {
        levels: BTreeMap<Level, u8>,
    }
    struct ByNumber {
        numbers: BTreeMap<u32, String>,
    }
    struct Rest {
        x: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    struct Anything {
        /// Whatever there is.
        value: Value,
    }
    struct Tree {
        /// What is below.
        children: Vec<Tree>,
    }
    struct Chain {
        value: u8,
        /// What comes after it.
        next: Option<Box<Chain>>,
    }
    struct Größe {
        wert: u8,
        größer: Option<Box<Größe>>,
    }
    enum Expression {
        Number(i32),
        /// The other way round.
        Negative(
            /// What is negated.
            Box<Expression>
        ),
        Sum { left: Box<Expression>, right: Box<Expression> },
    }
    struct Limits {
        #[schemars(range(min = 1, max = 10))]
        count: u32,
        #[schemars(length(min = 1, max = 3))]
        text: String,
        #[schemars(regex(pattern = r"^a+$"))]
        pattern: String,
        #[schemars(length(min = 1, max = 4))]
        list: Vec<u8>,
        #[schemars(extend("exclusiveMinimum" = 0.0))]
        above: f64,
        #[schemars(extend("exclusiveMinimum" = 0), extend("multipleOf" = 5))]
        fifth: i32,
        #[schemars(email)]
        mail: String,
        #[schemars(url)]
        address: String,
        #[schemars(example = &"Oslo")]
        city: String,
    }
    struct Wait {
        /// How long.
        time: Duration,
        outcome: Result<u8, String>,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Wrapped(u16);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct Unit;

fn three() -> u64 {
    3
}

/// Text that needs escapes now and then.
fn text() -> BoxedStrategy<String> {
    prop_oneof![Just(String::new()), "[a-z]{1,8}", Just("\"null\" ü \n".to_owned())].boxed()
}

/// A fraction that every notation keeps.
fn quarter() -> BoxedStrategy<f64> {
    (-400_i32..400).prop_map(|quarters| f64::from(quarters) / 4.0).boxed()
}

fn coordinates() -> BoxedStrategy<Coordinates> {
    (quarter(), -100_i16..100)
        .prop_map(|(latitude, longitude)| Coordinates { latitude, longitude: longitude.into() })
        .boxed()
}

fn level() -> BoxedStrategy<Level> {
    prop_oneof![Just(Level::Low), Just(Level::High)].boxed()
}

fn shape() -> BoxedStrategy<Shape> {
    prop_oneof![
        Just(Shape::Point),
        any::<u32>().prop_map(Shape::Circle),
        (any::<i32>(), any::<i32>()).prop_map(|(a, b)| Shape::Square(a, b)),
        (any::<i16>(), any::<bool>()).prop_map(|(sides, filled)| Shape::Polygon { sides, filled }),
        option::of(any::<u8>()).prop_map(Shape::Maybe),
    ]
    .boxed()
}

fn next() -> BoxedStrategy<Next> {
    prop_oneof![Just(Next::Stop), any::<u8>().prop_map(|speed| Next::Go { speed })].boxed()
}

fn tree() -> BoxedStrategy<Tree> {
    let leaf = Just(Tree { children: Vec::new() });
    leaf.prop_recursive(3, 12, 3, |inner| collection::vec(inner, 0..3).prop_map(|children| Tree { children })).boxed()
}

fn chain() -> BoxedStrategy<Chain> {
    let last = any::<u8>().prop_map(|value| Chain { value, next: None });
    last.prop_recursive(4, 6, 1, |inner| {
        (any::<u8>(), inner).prop_map(|(value, next)| Chain { value, next: Some(Box::new(next)) })
    })
    .boxed()
}

fn größe(chain: Chain) -> Größe {
    Größe { wert: chain.value, größer: chain.next.map(|next| Box::new(größe(*next))) }
}

fn expression() -> BoxedStrategy<Expression> {
    let number = any::<i32>().prop_map(Expression::Number);
    number
        .prop_recursive(3, 10, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|inner| Expression::Negative(Box::new(inner))),
                (inner.clone(), inner)
                    .prop_map(|(left, right)| Expression::Sum { left: Box::new(left), right: Box::new(right) }),
            ]
        })
        .boxed()
}

/// A sample type and how values of it are made.
pub(super) trait Sample: Sized {
    fn any() -> BoxedStrategy<Self>;
}

macro_rules! samples {
    ($($type:ty => $strategy:expr;)*) => {$(
        impl Sample for $type {
            fn any() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        }
    )*};
}

samples! {
    Place => (text(), option::of(coordinates())).prop_map(|(name, near)| Place { name, near });
    Level => level();
    Bare => prop_oneof![Just(Bare::Yes), Just(Bare::No)];
    Shape => shape();
    Step => prop_oneof![
        Just(Step::Wait),
        any::<u32>().prop_map(|meters| Step::Walk { meters }),
        coordinates().prop_map(Step::Visit),
    ];
    Reply => prop_oneof![
        Just(Reply::None),
        any::<u32>().prop_map(Reply::Count),
        text().prop_map(|text| Reply::Text { text }),
    ];
    Loose => prop_oneof![
        any::<i64>().prop_map(Loose::Count),
        text().prop_map(Loose::Text),
        text().prop_map(|name| Loose::Named { name }),
        collection::vec(any::<u8>(), 0..3).prop_map(Loose::Many),
        Just(Loose::Nothing),
    ];
    Flat => (any::<i32>(), coordinates(), next()).prop_map(|(x, at, step)| Flat { x, at, step });
    TwoFlat => (next(), prop_oneof![Just(Also::Rest), text().prop_map(|what| Also::Eat { what })])
        .prop_map(|(next, also)| TwoFlat { next, also });
    FlatOption => (any::<i32>(), option::of(coordinates())).prop_map(|(x, at)| FlatOption { x, at });
    Settings => (
        (any::<u32>(), 0..u64::MAX / 2, collection::vec(text(), 0..3)),
        (option::of(text()), option::of(level()), option::of(shape())),
        (any::<u8>(), text()),
    ).prop_map(|((retries, limit, tags), (note, level, shape), (depth, name))| {
        Settings { retries, limit, tags, note, level, shape, inner: Inner { depth, name } }
    });
    Closed => (any::<i8>(), any::<u16>()).prop_map(|(x, y)| Closed { x, y });
    Numbers => (
        (any::<i8>(), any::<u8>(), any::<u32>(), any::<u64>(), any::<u32>()),
        (1..u32::MAX, any::<NonZeroI16>(), option::of(any::<NonZeroI64>()), quarter()),
    )
        .prop_map(|((small, byte, word, long, size), (positive, distance, back, real))| Numbers {
            small,
            byte,
            word,
            long,
            size: size as usize,
            positive: NonZeroU32::new(positive).unwrap(),
            distance,
            back,
            real,
        });
    Texts => (text(), any::<char>(), text(), any::<bool>()).prop_map(|(text, letter, boxed, flag)| {
        Texts { text, letter, boxed: boxed.into(), flag, unit: () }
    });
    Sets => (collection::btree_set(text(), 0..3), any::<[u8; 3]>())
        .prop_map(|(names, three)| Sets { names, three, none: [] });
    Pair => (quarter(), quarter(), any::<u8>(), option::of((any::<u8>(), any::<u8>())))
        .prop_map(|(a, b, one, maybe)| Pair { same: (a, b), one: (one,), maybe });
    Mixed => prop_oneof![
        (any::<u8>(), text()).prop_map(|(number, text)| Mixed::Pair(number, text)),
        (text(), any::<bool>()).prop_map(|labels| Mixed::Labelled { labels }),
    ];
    Prices => collection::btree_map(text(), any::<u8>(), 0..3).prop_map(|by_name| Prices { by_name });
    ByLevel => collection::btree_map(level(), any::<u8>(), 0..3).prop_map(|levels| ByLevel { levels });
    ByNumber => collection::btree_map(any::<u32>(), text(), 0..3).prop_map(|numbers| ByNumber { numbers });
    Rest => (any::<u8>(), collection::btree_map("[a-w]{1,5}", any::<i32>(), 0..3))
        .prop_map(|(x, rest)| Rest { x, rest });
    Anything => prop_oneof![Just(Value::Null), Just(json!({"a": [1, null]})), text().prop_map(Value::from)]
        .prop_map(|value| Anything { value });
    Tree => tree();
    Chain => chain();
    Größe => chain().prop_map(größe);
    Expression => expression();
    Limits => (
        (1..=10_u32, "[a-z]{1,3}", "a{1,5}", collection::vec(any::<u8>(), 1..5)),
        (1..100_i32, (1..100_i32).prop_map(|fifth| fifth * 5), text()),
    ).prop_map(|((count, text, pattern, list), (above, fifth, city))| Limits {
        count,
        text,
        pattern,
        list,
        above: f64::from(above),
        fifth,
        mail: "somebody@example.org".to_owned(),
        address: "https://example.org/".to_owned(),
        city,
    });
    Wrapped => any::<u16>().prop_map(Wrapped);
    Unit => Just(Unit);
    Wait => (any::<u32>(), any::<u32>(), prop_oneof![any::<u8>().prop_map(Ok), text().prop_map(Err)])
        .prop_map(|(seconds, nanos, outcome)| Wait {
            time: Duration::new(seconds.into(), nanos % 1_000_000_000),
            outcome,
        });
    Option<Shape> => option::of(shape());
    Vec<Place> => collection::vec(Place::any(), 0..3);
    Value => Anything::any().prop_map(|anything| anything.value);
}

/// Calls a macro with every sample: a name, and the type.
macro_rules! with_samples {
    ($with:ident) => {
        $with! {
            place: Place, level: Level, bare: Bare, shape: Shape, step: Step, reply: Reply, loose: Loose, flat: Flat,
            two_flat: TwoFlat, flat_option: FlatOption, settings: Settings, closed: Closed, numbers: Numbers,
            texts: Texts, sets: Sets, pair: Pair, mixed: Mixed, prices: Prices, by_level: ByLevel,
            by_number: ByNumber, rest: Rest, anything: Anything, tree: Tree, chain: Chain, size: Größe, expression: Expression,
            limits: Limits, wrapped: Wrapped, unit: Unit, wait: Wait, optional: Option<Shape>, places: Vec<Place>,
            value: Value,
        }
    };
}
pub(super) use with_samples;
