//! Parses the words of a query. Two explicit stacks replace recursion: one for the operators and brackets that wait for
//! an operand, and one for the operands.

use almanac_engine::metric_scaling::PatternBudget;

use super::clauses::Matching;
use super::lexer::{Kind, Lexer, Token, excerpt};
use super::types::{self, Callee};
use super::{MAX_NESTED, Node, ParsedQuery, Refusal, Type, in_line};

/// The precedence of a sign: that of a multiplication.
const SIGN: u8 = 5;
/// The precedence of `^`, the only operator that is grouped from the right.
const POWER: u8 = 6;

/// A complete part of the query.
pub(super) struct Operand {
    pub(super) result: Type,
    pub(super) start: usize,
    pub(super) shape: Shape,
}

/// The parts that may follow an operand directly. The node of all but the last one is the last node.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Selector { has_name: bool, modifiers: Modifiers },
    Range(Modifiers),
    Subquery(Modifiers),
    Other,
}

/// The modifiers of the time of an operand.
#[derive(Clone, Copy, Default)]
pub(super) struct Modifiers {
    pub(super) has_offset: bool,
    pub(super) has_at: bool,
    /// A time after `@`, other than `start()` and `end()`. Before a range, Prometheus refuses only such a time.
    pub(super) has_instant: bool,
    /// `anchored` or `smoothed`.
    pub(super) edges: Option<&'static str>,
}

/// A part whose operand comes next.
enum Pending {
    Parenthesis { at: usize },
    Call { callee: Callee, groups: bool, commas: Vec<usize>, at: usize },
    Sign { at: usize, negates: bool },
    Binary { operator: &'static str, matching: Matching, at: usize },
}

/// The next part of the query.
enum Next {
    /// An operand.
    Operand,
    /// A part that may follow an operand.
    Following,
    /// The end of the query.
    End,
}

pub(super) struct Parser<'a, 'b> {
    pub(super) text: &'a str,
    lexer: Lexer<'a>,
    pub(super) next: Token,
    pending: Vec<Pending>,
    /// The number of brackets among the pending parts.
    nested: usize,
    pub(super) operands: Vec<Operand>,
    pub(super) nodes: Vec<Node>,
    pub(super) patterns: &'b mut PatternBudget,
    /// The starts of selectors that select every series, which only `info` allows.
    pub(super) unselective: Vec<usize>,
}

/// The precedence of an operator between two operands.
fn precedence(kind: &Kind) -> Option<(&'static str, u8)> {
    let (Kind::Symbol(operator) | Kind::Keyword(operator)) = kind else { return None };
    let precedence = match *operator {
        "or" => 1,
        "and" | "unless" => 2,
        "==" | "!=" | "<=" | "<" | ">=" | ">" | "</" | ">/" => 3,
        "+" | "-" => 4,
        "*" | "/" | "%" | "atan2" => SIGN,
        "^" => POWER,
        _ => return None,
    };
    Some((operator, precedence))
}

impl<'a, 'b> Parser<'a, 'b> {
    pub(super) fn new(text: &'a str, patterns: &'b mut PatternBudget) -> Parser<'a, 'b> {
        let mut lexer = Lexer::new(text);
        let next = lexer.next();
        Parser {
            text,
            lexer,
            next,
            pending: Vec::new(),
            nested: 0,
            operands: Vec::new(),
            nodes: Vec::new(),
            patterns,
            unselective: Vec::new(),
        }
    }

    pub(super) fn query(mut self) -> Result<ParsedQuery, Refusal> {
        if self.next.kind == Kind::End {
            return Err(self.refusal(0, "there is no expression"));
        }
        let mut next = Next::Operand;
        loop {
            next = match next {
                Next::Operand => self.operand()?,
                Next::Following => self.following()?,
                Next::End => break,
            };
        }
        if let Some(at) = self.unselective.first() {
            return Err(self.refusal(*at, "a selector needs a matcher that no empty label meets"));
        }
        let result = self.operands.pop().map_or(Type::Text, |operand| operand.result);
        Ok(ParsedQuery { result, nodes: self.nodes })
    }

    /// Reads up to the end of an operand, or up to a bracket or sign that needs an operand after it.
    fn operand(&mut self) -> Result<Next, Refusal> {
        let token = self.advance();
        match token.kind {
            Kind::Symbol(sign @ ("+" | "-")) => {
                self.pending.push(Pending::Sign { at: token.start, negates: sign == "-" });
                return Ok(Next::Operand);
            }
            Kind::Symbol("(") => {
                self.open(Pending::Parenthesis { at: token.start }, token.start)?;
                return Ok(Next::Operand);
            }
            Kind::Symbol("{") => self.selector(token.start, None)?,
            Kind::Number(number) => {
                self.push(Type::Scalar, token.start, Shape::Other, Node::Number(number));
            }
            Kind::Text { .. } => self.push(Type::Text, token.start, Shape::Other, Node::Text),
            Kind::Name | Kind::Keyword(_) => return self.named(&token),
            _ => return Err(self.unexpected(&token)),
        }
        Ok(Next::Following)
    }

    /// A call, an aggregation or the selector of a metric.
    fn named(&mut self, token: &Token) -> Result<Next, Refusal> {
        let name = &self.text[token.start..token.end];
        let opens = self.next.kind == Kind::Symbol("(");
        let (callee, groups) = match token.kind {
            Kind::Keyword(keyword)
                if let Some(aggregation) = types::aggregation(keyword)
                    && (opens || self.groups_next()) =>
            {
                (Callee::Aggregation(aggregation), self.grouping()?)
            }
            Kind::Name
            | Kind::Keyword("start" | "end" | "step" | "range" | "max_of" | "min_of")
                if opens =>
            {
                let why =
                    || self.refusal(token.start, &format!("no function is {}", excerpt(name)));
                (Callee::Function(types::function(name).ok_or_else(why)?), false)
            }
            Kind::Keyword("atan2" | "bool" | "on" | "ignoring" | "group_left" | "group_right") => {
                return Err(self.unexpected(token));
            }
            _ => {
                self.selector(token.start, Some(name))?;
                return Ok(Next::Following);
            }
        };
        self.expect("(")?;
        let call = Pending::Call { callee, groups, commas: Vec::new(), at: token.start };
        self.open(call, token.start)?;
        if self.next.kind != Kind::Symbol(")") {
            return Ok(Next::Operand);
        }
        self.close(0)?;
        Ok(Next::Following)
    }

    /// Reads the part after an operand.
    fn following(&mut self) -> Result<Next, Refusal> {
        if let Some((operator, precedence)) = precedence(&self.next.kind) {
            self.reduce(precedence)?;
            let at = self.advance().start;
            let matching = self.matching()?;
            self.pending.push(Pending::Binary { operator, matching, at });
            return Ok(Next::Operand);
        }
        match self.next.kind {
            Kind::Symbol("[") => self.range()?,
            Kind::Symbol("@") => self.at_modifier()?,
            Kind::Keyword("offset") => self.offset()?,
            Kind::Keyword(edges @ ("anchored" | "smoothed")) => self.edges(edges)?,
            Kind::Symbol(",") => {
                self.reduce(0)?;
                let Some(Pending::Call { commas, .. }) = self.pending.last_mut() else {
                    return Err(self.unexpected(&self.next));
                };
                commas.push(self.next.start);
                self.advance();
                return Ok(Next::Operand);
            }
            Kind::Symbol(")") => {
                self.reduce(0)?;
                self.close(1)?;
            }
            Kind::End => {
                self.reduce(0)?;
                return match self.pending.last() {
                    Some(Pending::Parenthesis { at }) => {
                        Err(Refusal::for_word(self.text, *at, "unclosed \"(\""))
                    }
                    Some(Pending::Call { callee, at, .. }) => {
                        let message = format!("unclosed \"{}(\"", callee.name());
                        Err(Refusal::for_word(self.text, *at, &message))
                    }
                    _ => Ok(Next::End),
                };
            }
            _ => return Err(self.unexpected(&self.next)),
        }
        Ok(Next::Following)
    }

    fn open(&mut self, bracket: Pending, at: usize) -> Result<(), Refusal> {
        if self.nested == MAX_NESTED {
            return Err(self.too_deep(at));
        }
        self.nested += 1;
        self.pending.push(bracket);
        Ok(())
    }

    /// Ends the innermost bracket, with `last` arguments after the last comma, 0 or 1.
    fn close(&mut self, last: usize) -> Result<(), Refusal> {
        match self.pending.pop() {
            Some(Pending::Parenthesis { at }) => {
                self.advance();
                if let Some(inner) = self.operands.last_mut() {
                    (inner.start, inner.shape) = (at, Shape::Other);
                }
            }
            Some(Pending::Call { callee, mut groups, commas, at }) => {
                self.advance();
                if matches!(callee, Callee::Aggregation(_)) && !groups {
                    groups = self.grouping()?;
                }
                let count = commas.len() + last;
                let arguments = self.operands.split_off(self.operands.len() - count);
                let (result, node) = match callee {
                    Callee::Aggregation(aggregation) => {
                        self.aggregated(aggregation, groups, &arguments, &commas, at)?
                    }
                    Callee::Function(function) => self.called(function, &arguments, at)?,
                };
                self.push(result, at, Shape::Other, node);
            }
            _ => return Err(self.unexpected(&self.next)),
        }
        self.nested -= 1;
        Ok(())
    }

    /// Completes the pending parts that bind the last operand more strongly than the next part, or from the left.
    fn reduce(&mut self, next: u8) -> Result<(), Refusal> {
        loop {
            let binds = match self.pending.last() {
                Some(Pending::Sign { .. }) => SIGN,
                Some(Pending::Binary { operator, .. }) => {
                    precedence(&Kind::Symbol(operator)).map_or(0, |(_, binds)| binds)
                }
                _ => return Ok(()),
            };
            if binds < next || binds == POWER && next == POWER {
                return Ok(());
            }
            let Some(right) = self.operands.pop() else { return Ok(()) };
            match self.pending.pop() {
                Some(Pending::Sign { at, negates }) => {
                    if !matches!(right.result, Type::Scalar | Type::Vector) {
                        let message = format!("a sign is not possible before {}", right.result);
                        return Err(self.refusal(at, &message));
                    }
                    if negates {
                        self.nodes.push(Node::Negation);
                    }
                    self.operands.push(Operand { start: at, shape: Shape::Other, ..right });
                }
                Some(Pending::Binary { operator, matching, at }) => {
                    let Some(left) = self.operands.pop() else { return Ok(()) };
                    let result =
                        types::binary_result(operator, &matching, left.result, right.result)
                            .map_err(|message| self.refusal(at, &message))?;
                    let matches_labels = matching.matches_labels();
                    let node = Node::Binary { operator, matches_labels };
                    self.push(result, left.start, Shape::Other, node);
                }
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn push(&mut self, result: Type, start: usize, shape: Shape, node: Node) {
        self.operands.push(Operand { result, start, shape });
        self.nodes.push(node);
    }

    /// Returns the next word, and moves to the word after that.
    pub(super) fn advance(&mut self) -> Token {
        let next = self.lexer.next();
        std::mem::replace(&mut self.next, next)
    }

    /// Skips a symbol or keyword if it is the next word, and returns whether it was.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is_next =
            matches!(self.next.kind, Kind::Symbol(next) | Kind::Keyword(next) if next == word);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Refusal> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(&self.next)) }
    }

    pub(super) fn unexpected(&self, token: &Token) -> Refusal {
        let message = match &token.kind {
            Kind::Invalid(why) => why.clone(),
            Kind::End => "unexpected end".to_owned(),
            _ => format!("unexpected {}", excerpt(&self.text[token.start..token.end])),
        };
        Refusal::for_word(self.text, token.start, &message)
    }

    /// Refuses a part that starts at a byte.
    pub(super) fn refusal(&self, at: usize, message: &str) -> Refusal {
        Refusal::new(at, format!("{message}{}", in_line(self.text, at)))
    }

    pub(super) fn too_deep(&self, at: usize) -> Refusal {
        let message =
            format!("nested more than {MAX_NESTED} levels deep{}", in_line(self.text, at));
        Refusal::too_much(at, message)
    }
}
