//  Argos client: a full peer of the broker, with the npm package zeromq and nothing else.
//
//    const peer = await connect({ name: 'echo', home: '~/.argos' })      // or endpoint, key
//    const reply = await peer.request('service:echo', 'echo.request', { text: 'hello' })
//    await peer.send('service:log', 'log.line', { text: 'kept' }, { key: 'a' })     // durable: it is on disk then
//    peer.publish('news', 'news.item', { n: 1 })
//    for await (const event of peer.serve('echo', { slots: 8 }))          // kinds: lease, mail, lost, request, word
//      if (event.kind === 'request') peer.reply(event, 'echo.reply', event.body)
//      else if (event.kind === 'lease') await event.lease.done([part('echo.done', 'topic:echo', event.body)])
//    for await (const entry of peer.subscribe('news', { from: 0 })) ...    // kinds: entry, end
//
//  Answers are promises; a refusal rejects with Refused, and a refused serve or subscribe is thrown by its loop behind what has come. After a lost connection the peer connects again by itself (pauses of 0.1 to 30 s),
//  says which leases it holds, and sends again, in order, what was not answered; a request that may have reached its worker fails with
//  `gone` instead. Keep the event loop free: 15 s without a ping end the leases. docs/adapters.md is the guide, docs/protocol.md the wire.

import { EventEmitter } from 'node:events'
import { randomBytes } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Dealer } from 'zeromq'

const HEADER_MAX = 4096
const PART_MAX = 1 << 20
const COMMIT_MAX = 2 << 20
const PARTS_MAX = 64
const OUT_MAX = 65536
const OUT_BYTES_MAX = 64 << 20
const CREDIT_MESSAGES = 64
const CREDIT_BYTES = 4 << 20
const SILENCE_MS = 6000
const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 30000
const BACKOFF_LEASE_MS = 2000
const DEATHS_MAX = 3 // Starts of the core that end with one send unanswered
const GIVE_UP_MS = 5000 // Pause before another attempt at what the core may have ended of
const LEVELS_MAX = 1000 // Of a body; what is nested deeper could not be written again
const REQUEST_MS = 30000
const CONNECT_MS = 30000

//  The broker or the other end said no. code is one of schema/errors.json; sent: a request may have reached its worker.
export class Refused extends Error {
  constructor (code, reason = '', part = -1, sent = false) {
    super(reason ? `${code}: ${reason}` : code)
    Object.assign(this, { name: 'Refused', code, reason, part, sent })
  }
}

//  One part of a commit. more: id, key, side, urgent, not_before, last.
export function part (type, to, body = {}, more = {}) {
  return { header: { type, to, ...more }, body }
}

//  Where the broker of a home listens ($ARGOS_ENDPOINT first, unless a home is named).
export function findEndpoint (home) {
  if (home === undefined && process.env.ARGOS_ENDPOINT) return process.env.ARGOS_ENDPOINT
  let folder = (home ?? process.env.ARGOS_HOME ?? '~/.argos').replace(/^~(?=\/|$)/, homedir())
  try {
    folder = realpathSync(folder)
    return readFileSync(join(folder, 'run', 'broker.endpoint'), 'utf8').split('\n')[0].trim()
  } catch {
    return `ipc://${folder}/run/broker.sock`
  }
}

function readKey (path) {
  if (statSync(path).mode & 0o077) throw new Error(`${path}: others can read it; set its mode to 0600`)
  return JSON.parse(readFileSync(path, 'utf8'))
}

function encode (value, limit) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (error) { // Nested too deep, a circle, a BigInt
    throw new Refused('invalid', error.message)
  }
  const data = Buffer.from(text)
  if (data.length > limit) throw new Refused('too_big', `${data.length} bytes; at most ${limit}`)
  return data
}

const isPattern = (topic) => topic.split('.').some((segment) => segment === '*' || segment === '>')

//  `*` is any one segment, `>` at the end one or more
function fits (pattern, topic) {
  const wanted = pattern.split('.')
  let segments = topic.split('.')
  if (wanted.at(-1) === '>' && segments.length >= wanted.length) segments = segments.slice(0, wanted.length - 1).concat('>')
  return wanted.length === segments.length && wanted.every((want, index) => want === '*' || want === segments[index])
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
const isShallow = (value, left = LEVELS_MAX) => value === null || typeof value !== 'object' ||
  (left > 0 && Object.values(value).every((each) => isShallow(each, left - 1)))
const number = (value, none = 0) => Number.isSafeInteger(value) ? value : none
const string = (value, none = '') => typeof value === 'string' ? value : none

//  The object of a frame; null when it is none, or can't be read.
function decode (frame) {
  if (!frame.length) return {}
  try {
    const value = JSON.parse(frame)
    return isObject(value) && (frame.length < 2 * LEVELS_MAX || isShallow(value)) ? value : null
  } catch {
    return null
  }
}

const NOTHING = Buffer.alloc(0)

function frames (header, body, parts = []) {
  const clean = (head) => Object.fromEntries(Object.entries(head).filter(([, value]) => value !== undefined && value !== false))
  const content = (value) => value && Object.keys(value).length ? encode(value, PART_MAX) : NOTHING
  const data = [Buffer.from('AR1'), encode(clean(header), HEADER_MAX), NOTHING, content(body)]
  for (const each of parts) data.push(encode(clean(each.header), HEADER_MAX), content(each.body))
  if (parts.length > PARTS_MAX || size(data.slice(4)) > COMMIT_MAX) {
    throw new Refused('too_big', `a commit has at most ${PARTS_MAX} parts and ${COMMIT_MAX} bytes`)
  }
  return data
}

const size = (data) => data.reduce((sum, frame) => sum + frame.length, 0)
const now = () => performance.now()

//  What is handed out by for await: values wait for their reader; taken is called with each one that it takes.
class Stream {
  constructor (taken, over) {
    Object.assign(this, { values: [], waiting: [], taken, over, ended: null })
  }

  put (value) {
    if (this.ended) return
    if (this.waiting.length) this.hand(this.waiting.shift(), value)
    else this.values.push(value)
  }

  hand (reader, value) {
    this.taken?.(value)
    reader.resolve({ value, done: false })
  }

  end (error) {
    this.ended ??= { error }
    for (const reader of this.waiting.splice(0)) this.finish(reader)
  }

  finish ({ resolve, reject }) {
    if (this.ended.error) reject(this.ended.error)
    else resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator] () {
    return {
      next: () => new Promise((resolve, reject) => {
        //  A lease that ended before it was taken is not handed out
        while (this.values.length && this.values[0].lease && this.values[0].kind !== 'lost' && !this.values[0].lease.open) this.values.shift()
        if (this.values.length) this.hand({ resolve }, this.values.shift())
        else if (this.ended) this.finish({ resolve, reject })
        else this.waiting.push({ resolve, reject })
      }),
      return: async () => {
        this.over?.()
        this.end()
        return { value: undefined, done: true }
      }
    }
  }
}

//  A leased message: commit any number of times, then done or release. Commits are numbered; one is unanswered at a time.
class Lease {
  constructor (peer, service, header, meta, body) {
    Object.assign(this, { peer, service, seq: meta.seq, number: meta.lease, attempt: meta.attempt, type: header.type, key: header.key ?? '', body })
    Object.assign(this, { n: 1, seen: 0, open: true, unanswered: null })
  }

  commit (parts, take = []) { return this.peer._commit(this, 'commit', parts, take) }

  //  The last commit: the message is consumed with it.
  done (parts = [], take = []) { return this.peer._commit(this, 'done', parts, take) }

  //  Give it back. clean: nothing outside has begun, the attempt is not counted. reject: a code; it becomes a dead letter.
  release ({ delayMs = 0, clean = false, reject } = {}) {
    if (!this.open) return
    const header = { type: 'release', id: this.peer._newId(), seq: this.seq, lease: this.number }
    this.peer._end(this)
    this.peer._queue({ kind: 'release', header, data: frames(header, reject ? { reject } : { delay_ms: delayMs, clean }) })
  }
}

//  Events: welcome (newStore), refused (address, Refused: of a serve or subscribe), final (Refused: this instance is over).
export class Peer extends EventEmitter {
  constructor ({ name = process.env.ARGOS_NAME, endpoint, home, key = process.env.ARGOS_KEY } = {}) {
    super()
    this.name = name
    this.endpoint = endpoint ?? findEndpoint(home)
    this.key = key ? readKey(key) : null
    const here = this.endpoint === process.env.ARGOS_ENDPOINT // argosd gives an adapter of its settings both
    this.token = this.key ? this.key.token : here ? process.env.ARGOS_TOKEN : undefined
    this.instance = Date.now()
    this.store = null
    this.final = null
    this._welcome = {}
    this._leases = new Map()
    this._services = new Map()
    this._topics = new Map()
    this._outs = new Map() // Unanswered, in order
    this._bytes = 0
    this._unsent = []
    this._prefix = randomBytes(16).toString('hex')
    this._count = 0
    this._backoff = 0
    this._open()
  }

  //  -- The connection ---------------------------------------------------------------------------

  //  Resolves to the peer when the broker has taken it in; rejects with Refused when it is over, or `expired` after timeoutMs.
  connected (timeoutMs = CONNECT_MS) {
    if (this._state === 'ready') return Promise.resolve(this)
    return new Promise((resolve, reject) => {
      const late = () => settle(reject, new Refused('expired', `no welcome from ${this.endpoint}: is the broker there, and does it know this key?`))
      const timer = setTimeout(late, timeoutMs)
      const settle = (then, value) => {
        clearTimeout(timer)
        this.off('welcome', taken).off('final', over)
        then(value)
      }
      const taken = () => settle(resolve, this)
      const over = (refused) => settle(reject, refused)
      this.once('welcome', taken).once('final', over)
    })
  }

  _open () {
    const options = { linger: 0, sendHighWaterMark: 20000, receiveHighWaterMark: 20000, reconnectMaxInterval: 1000 }
    if (this.key && this.endpoint.startsWith('tcp:')) {
      Object.assign(options, { curvePublicKey: this.key.public, curveSecretKey: this.key.secret, curveServerKey: this.key.server })
    }
    this._socket = new Dealer(options)
    this._writing = Promise.resolve()
    this._socket.connect(this.endpoint)
    this._read(this._socket)
    this._hello()
  }

  async _read (socket) {
    try {
      for await (const message of socket) if (socket === this._socket) this._handle(message)
    } catch (error) {
      if (socket === this._socket && !socket.closed) throw error
    }
  }

  //  One send at a time is what the socket takes
  _write (data) {
    const socket = this._socket
    this._writing = this._writing.then(() => socket === this._socket ? socket.send(data) : null).catch(() => {})
  }

  _word (type, body, header = {}) { this._write(frames({ type, ...header }, body)) }

  _newId () { return `${this._prefix}.${++this._count}` }

  _later (ms, action) {
    clearTimeout(this._timer)
    this._timer = setTimeout(action, ms)
  }

  _hello () {
    this._state = 'hello'
    this._helloId = this._newId()
    const held = [...this._leases.values()].map(({ seq, number }) => ({ seq, lease: number }))
    for (const out of this._outs.values()) if (out.kind === 'release') held.push({ seq: out.header.seq, lease: out.header.lease })
    const body = { name: this.name, instance: this.instance, protocol: 1, leases: held }
    if (this.token && !this.endpoint.startsWith('tcp:')) body.token = this.token
    this._helloAt = now()
    this._word('hello', body, { id: this._helloId })
    this._later(SILENCE_MS, () => this._lost())
  }

  _lost () {
    const pause = Math.min(this._backoff || BACKOFF_MS, this._leases.size ? BACKOFF_LEASE_MS : BACKOFF_MAX_MS)
    this._backoff = pause * 2
    this._state = 'wait'
    this._socket.close()
    this._socket = null
    this._later(pause * (0.8 + Math.random() * 0.4), () => this._open())
  }

  _tick () {
    const { ping_ms: pingMs } = this._welcome
    if (this._state !== 'ready' || !pingMs) return
    if (now() - this._heard >= Math.max(SILENCE_MS, 3 * pingMs)) this._lost()
    else {
      this._word('ping', null, { id: String(now()) })
      this._later(pingMs, () => this._tick())
    }
  }

  //  Says bye: leases are freed without a strike. What is not answered is given up, and rejected.
  async close () {
    if (!this._socket && this._state === 'final') return
    if (this._state === 'ready') this._word('bye')
    clearTimeout(this._timer)
    const socket = this._socket
    if (socket) {
      socket.linger = 500
      await this._writing
    }
    this._over(new Refused('gone', 'closed'))
    this._socket = null
    socket?.close()
  }

  //  Whether the newest answered ping is younger than the lease time: before any effect outside.
  live () {
    return this._state === 'ready' && (!this._welcome.ping_ms || now() - this._answered < this._welcome.lease_ms)
  }

  _over (refused) {
    if (this.final) return
    this.final = refused
    this._state = 'final'
    clearTimeout(this._timer)
    for (const lease of [...this._leases.values()]) this._lose(lease, refused.code)
    for (const out of [...this._outs.values()]) this._answer(out, refused)
    const error = refused.code === 'gone' ? undefined : refused
    for (const { stream } of [...this._services.values(), ...this._topics.values()]) stream.end(error)
    this.emit('final', refused)
  }

  //  -- Out --------------------------------------------------------------------------------------

  _queue (out) {
    if (this.final) throw this.final
    const { id } = out.header
    out.name = out.kind === 'fire' ? Symbol('fire') : id
    out.bytes = size(out.data) - 3
    if (this._outs.has(out.name)) throw new Refused('busy', 'a message of this id is on its way')
    if (out.kind !== 'release' && (this._outs.size >= OUT_MAX || this._bytes + out.bytes > OUT_BYTES_MAX)) {
      throw new Refused('busy', 'too much is on its way')
    }
    this._outs.set(out.name, out)
    this._bytes += out.bytes
    this._unsent.push(out)
    this._flush()
  }

  _flush () {
    while (this._state === 'ready' && this._unsent.length) {
      const out = this._unsent[0]
      if (out.kind !== 'release') {
        if (this._used[0] >= this._window[0] || this._used[1] + out.bytes > this._window[1]) return
        this._used = [this._used[0] + 1, this._used[1] + out.bytes]
      }
      this._write(out.data)
      Object.assign(out, { sent: true, boot: this._welcome.boot })
      this._unsent.shift()
      if (out.kind === 'fire') this._drop(out)
    }
  }

  _drop (out) {
    if (!this._outs.delete(out.name)) return
    this._bytes -= out.bytes
    clearTimeout(out.timer)
    if (!out.sent) this._unsent = this._unsent.filter((other) => other !== out)
  }

  _answer (out, refused, value) {
    this._drop(out)
    const { lease } = out
    if (lease) {
      lease.unanswered = null
      if (!refused && out.kind === 'commit') lease.n++
      else if (!refused || refused.code === 'fenced') this._end(lease)
    }
    if (refused) out.reject?.(refused)
    else out.resolve?.(value)
    if (lease && refused?.code === 'fenced') this._tell(lease.service, { kind: 'lost', seq: lease.seq, lease })
  }

  _ask (out) {
    return new Promise((resolve, reject) => {
      Object.assign(out, { resolve, reject })
      if (out.lease) out.lease.unanswered = out
      try {
        this._queue(out)
      } catch (error) {
        if (out.lease) out.lease.unanswered = null
        throw error
      }
    })
  }

  //  Asks a service, an actor or the store. Resolves to the body of the reply (withType: to { type, body }).
  async request (to, type, body = {}, { timeoutMs = REQUEST_MS, withType = false, ...more } = {}) {
    const header = { type, id: this._newId(), to, ttl_ms: Math.max(1, Math.round(timeoutMs)), ...more }
    const out = { kind: 'request', header, data: frames(header, body) }
    out.timer = setTimeout(() => this._answer(out, new Refused('expired', 'the deadline has passed', -1, out.sent)), timeoutMs)
    const answer = await this._ask(out)
    return withType ? answer : answer.body
  }

  //  A durable message: resolves to its seq when it is on disk. The same id again is the same message, for 30 days: name one if your
  //  process may end before the answer. more: id, key, side, urgent, not_before; last of a kept entry.
  async send (to, type, body = {}, more = {}) {
    const header = { type, to, ...more, id: more.id ?? this._newId(), durable: true }
    return (await this._ask({ kind: 'accept', header, data: frames(header, body) })).seq ?? 0
  }

  //  Several durable messages and store operations as one accepted unit, known by its id.
  async commit (parts, id = this._newId()) {
    const header = { type: 'commit', id }
    return (await this._ask({ kind: 'accept', header, data: frames(header, null, this._parts(parts)) })).seq ?? 0
  }

  _parts (parts) {
    return parts.map(({ header, body }) => header.to === 'store'
      ? { header, body }
      : { header: { ...header, id: header.id ?? this._newId(), durable: true }, body })
  }

  async _commit (lease, kind, parts, take) {
    if (!lease.open) throw new Refused('fenced', 'the lease is over')
    if (lease.unanswered) throw new Refused('busy', 'a commit is unanswered')
    const header = { type: kind, id: this._newId(), seq: lease.seq, lease: lease.number, n: lease.n }
    if (kind === 'done') header.seen = lease.seen
    if (take.length) header.take = take
    return (await this._ask({ kind, header, lease, data: frames(header, null, this._parts(parts)) })).seq ?? 0
  }

  //  A passing entry of a topic. more: keyframe, lease. Entries that are kept are durable: send to 'topic:...'.
  publish (topic, type, body = {}, { lease, ...more } = {}) {
    const header = { type, to: `topic:${bare(topic, 'topic:')}`, ...more }
    if (lease) Object.assign(header, { seq: lease.seq, lease: lease.number })
    this._queue({ kind: 'fire', header, data: frames(header, body) })
  }

  //  Answer a request.
  reply (request, type, body = {}) {
    const header = { type, to: `actor:${request.from}`, re: request.id }
    this._queue({ kind: 'fire', header, data: frames(header, body) })
  }

  //  Answer a request that can't be served.
  refuse (request, code, reason = '') { this.reply(request, 'error', { code, reason }) }

  //  -- Work and topics --------------------------------------------------------------------------

  //  Be a worker with so many leases at most (0 pauses); again for the same service changes that.
  serve (service, { slots = 1, types, ...more } = {}) {
    const name = bare(service, 'service:')
    const { stream, accepted } = this._services.get(name) ?? { stream: new Stream((event) => this._renew(event.bytes)), accepted: false }
    this._services.set(name, { stream, accepted, body: { service: name, slots, ...(types ? { types } : {}), ...more } })
    if (this._state === 'ready') this._sayServe(name)
    return stream
  }

  _sayServe (name) { this._word('serve', this._services.get(name).body, { id: `service:${name}` }) }

  //  Read a topic from a number; leaving the loop ends it. A pattern ('run.*', 'run.>') reads what is live of all topics that fit; `topic` of
  //  an entry says which. Of patterns that overlap the first has it.
  subscribe (topic, { from = 0 } = {}) {
    const name = bare(topic, 'topic:')
    this.unsubscribe(name)
    const stream = new Stream((event) => this._renew(event.bytes), () => this.unsubscribe(name))
    this._topics.set(name, { stream, from, last: -1, closed: false, id: '', pattern: isPattern(name) })
    if (this._state === 'ready') this._saySubscribe(name)
    return stream
  }

  _saySubscribe (name) {
    const read = this._topics.get(name)
    read.id = this._newId()
    this._word('subscribe', { from: Math.max(read.last + 1, read.from) }, { id: read.id, to: `topic:${name}` })
  }

  unsubscribe (topic) {
    const name = bare(topic, 'topic:')
    const read = this._topics.get(name)
    if (!read) return
    this._topics.delete(name)
    if (this._state === 'ready') this._word('unsubscribe', null, { to: `topic:${name}` })
    read.stream.end()
  }

  _tell (service, event) { this._services.get(service)?.stream.put(event) }

  _end (lease) {
    lease.open = false
    if (this._leases.get(lease.seq) === lease) this._leases.delete(lease.seq)
    if (lease.unanswered) lease.unanswered.lease = null
    lease.unanswered = null
  }

  _lose (lease, code) {
    const out = lease.unanswered
    this._end(lease)
    if (out) this._answer(out, new Refused(code, 'the lease is over'))
    this._tell(lease.service, { kind: 'lost', seq: lease.seq, lease })
  }

  //  -- In ---------------------------------------------------------------------------------------

  _handle (message) {
    if (message.length !== 4 || message[0].toString() !== 'AR1' || this._state === 'final') return
    const [header, meta, body] = message.slice(1).map(decode)
    if (!header || !meta || typeof header.type !== 'string') return
    this._heard = now()
    const out = this._outs.get(header.re)
    if (meta.from !== undefined) {
      if (this._state === 'ready') this._message(header, meta, body, size(message) - 3, out)
    } else if (Object.hasOwn(words, header.type)) words[header.type].call(this, header, body ?? {}, out)
    else if (out?.kind === 'request' && this._state === 'ready') this._replied(out, header.type, body)
    this._flush()
  }

  _onWelcome (header, body) {
    if (this._state !== 'hello' || header.re !== this._helloId) return
    if (typeof body.store !== 'string' || !isObject(body.window) || !Array.isArray(body.leases ?? [])) return // No welcome of ours
    const newStore = this.store !== null && this.store !== body.store
    Object.assign(this, { store: body.store, _welcome: body, _backoff: 0, _answered: this._helloAt })
    const states = new Map(newStore ? [] : (body.leases ?? []).filter(isObject).map(({ seq, lease, state }) => [`${seq}/${lease}`, state]))
    for (const lease of [...this._leases.values()]) {
      const state = states.get(`${lease.seq}/${lease.number}`)
      if (state === 'done' && lease.unanswered?.kind === 'done') this._answer(lease.unanswered, null, {})
      else if (state !== 'valid') this._lose(lease, 'fenced')
    }
    this._settle(body.boot)
    this._unsent = [...this._outs.values()]
    this._window = [number(body.window.messages), number(body.window.bytes)]
    this._used = [0, 0]
    this._got = [0, 0]
    this._granted = [CREDIT_MESSAGES, CREDIT_BYTES]
    this._state = 'ready'
    this._word('credit', { messages: CREDIT_MESSAGES, bytes: CREDIT_BYTES })
    for (const [name, service] of this._services) {
      service.accepted = false
      this._sayServe(name)
    }
    for (const [name, read] of this._topics) {
      if (newStore) Object.assign(read, { last: -1, closed: false })
      if (!read.closed) this._saySubscribe(name)
    }
    if (body.ping_ms) this._later(body.ping_ms, () => this._tick())
    else clearTimeout(this._timer)
    this.emit('welcome', newStore)
  }

  //  Nothing that the core may have died of is sent to it for ever; lost connections don't count.
  _settle (boot) {
    const why = 'the core ended with it again and again'
    for (const out of [...this._outs.values()].filter((out) => out.sent)) {
      const { lease } = out
      if (out.boot !== boot) Object.assign(out, { boot, deaths: (out.deaths ?? 0) + 1 })
      if (out.kind === 'request') this._answer(out, new Refused('gone', 'the connection was lost', -1, true))
      else if (!(out.deaths >= DEATHS_MAX) || out.kind === 'release') continue
      else if (lease) {
        lease.release({ delayMs: GIVE_UP_MS })
        this._answer(out, new Refused('fenced', why, -1, true))
        this._tell(lease.service, { kind: 'lost', seq: lease.seq, lease })
      } else this._answer(out, new Refused('gone', why, -1, true))
    }
  }

  _onRefused (header, body, out) {
    const refused = refusal(body, body.sent === true)
    const { code } = refused
    const lease = this._leases.get(header.seq)
    const toHello = header.re === this._helloId
    //  Denied unasked: the key has been revoked
    const unasked = header.seq === undefined && (code === 'superseded' || (code === 'denied' && !header.re))
    if (unasked || (toHello && ['denied', 'invalid'].includes(code))) this._over(refused)
    else if (toHello && this._state === 'hello') this._lost()
    else if (code === 'no_session') {
      if (out) out.sent = false
      if (this._state === 'ready') this._hello()
    } else if (out) this._answer(out, refused)
    else if (lease && !header.re && lease.number === header.lease) this._lose(lease, code)
    else {
      const [topic, read] = [...this._topics].find(([, each]) => each.id === header.re) ?? []
      const [name, service] = [...this._services].find(([each]) => `service:${each}` === header.re) ?? []
      if (read) this._topics.delete(topic)
      else if (service && !service.accepted) this._services.delete(name) // Else a change is refused; what was said before holds
      this.emit('refused', read ? `topic:${topic}` : header.re, refused)
      if (read) read.stream.end(refused)
      else if (service && !service.accepted) service.stream.end(refused)
    }
  }

  _onEnd (header, body) {
    for (const [topic, read] of this._topics) {
      if (read.id !== header.re) continue
      const n = number(body.n, -1)
      Object.assign(read, { last: Math.max(read.last, n), closed: read.closed || body.closed === true })
      read.stream.put({ kind: 'end', topic, n, closed: body.closed === true })
      if (read.closed) read.stream.end()
    }
  }

  _message (header, meta, body, bytes, out) {
    const { type, id = '', re = '', key = '', to = '' } = header
    const event = { type, id, re, key, from: meta.from, n: meta.n, seq: meta.seq, attempt: meta.attempt, body, header, meta }
    if (meta.mail !== undefined) {
      const lease = this._leases.get(meta.mail)
      if (lease?.number !== meta.lease) return
      lease.seen = Math.max(lease.seen, meta.seq)
      if (body) this._tell(lease.service, { ...event, kind: 'mail', lease })
    } else if (meta.lease !== undefined) this._leased(event, meta, body)
    else if (meta.topic !== undefined) {
      const topic = bare(meta.topic, 'topic:')
      const read = this._reads(topic, meta.n)
      if (body && read) read.stream.put({ ...event, kind: 'entry', topic, bytes })
      else this._renew(bytes)
      if (!read || read.pattern) return
      Object.assign(read, { last: meta.n, closed: read.closed || header.last === true })
      if (header.last) read.stream.end()
    } else if (re && !to.startsWith('service:') && type !== 'cancel') {
      if (out?.kind === 'request') this._replied(out, type, body)
    } else if (!body) this._unreadable(event, to, bytes)
    else if (to.startsWith('actor:')) {
      this._renew(bytes)
      if (!this.emit('request', { ...event, kind: re ? 'word' : 'request' }) && id && !re) this.refuse(event, 'unknown_type')
    } else this._tell(bare(to, 'service:'), { ...event, kind: re ? 'word' : 'request' })
  }

  //  Which subscription an entry is for: that of its topic, unless it has had it; else of a pattern, which keeps no number.
  _reads (topic, n) {
    const read = this._topics.get(topic)
    if (read && n > read.last) return read
    return [...this._topics].find(([name, { pattern }]) => pattern && fits(name, topic))?.[1]
  }

  //  A reply; one of type `error` is the refusal of the worker itself.
  _replied (out, type, body) {
    if (!body) this._answer(out, new Refused('invalid', 'the body of the reply is not a JSON object', -1, true))
    else if (type === 'error') this._answer(out, refusal(body, true))
    else this._answer(out, null, { type, body })
  }

  //  A request whose body is no object: its reader is spared that.
  _unreadable (event, to, bytes) {
    if (to.startsWith('actor:')) this._renew(bytes)
    if (!event.id || event.re) return
    try {
      this.refuse(event, 'invalid', 'the body is not a JSON object')
    } catch { /* too much is on its way */ }
  }

  _leased (event, meta, body) {
    const known = this._leases.get(meta.seq)
    if (known?.number === meta.lease) return
    if (known) this._lose(known, 'fenced')
    const service = bare(event.header.to, 'service:')
    const lease = new Lease(this, service, event.header, meta, body)
    this._leases.set(lease.seq, lease)
    if (!body) lease.release({ reject: 'invalid' })
    else if (!this._services.has(service)) lease.release({ clean: true })
    else this._tell(service, { ...event, kind: 'lease', lease })
  }

  //  Credit comes back as entries are taken, so that a slow reader slows the broker
  _renew (bytes) {
    if (!bytes || this._state !== 'ready') return
    this._got = [this._got[0] + 1, this._got[1] + bytes]
    if (this._granted[0] - this._got[0] > CREDIT_MESSAGES / 2 && this._granted[1] - this._got[1] > CREDIT_BYTES / 2) return
    this._granted = [this._got[0] + CREDIT_MESSAGES, this._got[1] + CREDIT_BYTES]
    this._word('credit', { messages: this._granted[0], bytes: this._granted[1] })
  }
}

//  What the body of a `refused` or an `error` says.
function refusal ({ code, reason, part: index }, sent) { return new Refused(string(code, 'internal'), string(reason), number(index, -1), sent) }

function bare (address, prefix) { return address.startsWith(prefix) ? address.slice(prefix.length) : address }

const words = {
  welcome: Peer.prototype._onWelcome,
  refused: Peer.prototype._onRefused,
  end: Peer.prototype._onEnd,
  accepted (header, body, out) {
    if (out && out.kind !== 'request') return this._answer(out, null, body)
    const service = out || !header.re?.startsWith('service:') ? null : this._services.get(bare(header.re, 'service:'))
    if (service) service.accepted = true
  },
  pong ({ re }) { this._answered = Math.max(this._answered, Number(re) || 0) },
  credit (header, body) {
    if (this._state === 'ready') this._window = [Math.max(this._window[0], number(body.messages)), Math.max(this._window[1], number(body.bytes))]
  }
}

//  A peer that the broker has taken in. Rejects with Refused: `expired` when nobody answers there, or knows this key.
export async function connect ({ timeoutMs = CONNECT_MS, ...options }) {
  const peer = new Peer(options)
  try {
    return await peer.connected(timeoutMs)
  } catch (error) {
    peer.close()
    throw error
  }
}
