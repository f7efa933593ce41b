//  driver - the Node client behind a pipe: a command a line in, an event a line out. The same in each language; see test_clients.py.
//
//    driver.mjs ENDPOINT NAME [KEY]

import { createInterface } from 'node:readline'
import { Peer, part } from '../../../clients/node/argos.mjs'

const [endpoint, name, key] = process.argv.slice(2)
const leases = new Map()
const requests = new Map()

const tell = (event, members) => console.log(JSON.stringify({ event, ...members }))

const peer = new Peer({ endpoint, name, key })
peer.on('welcome', (newStore) => tell('welcome', { new_store: newStore }))
peer.on('refused', (address, { code }) => tell('refused', { address, code }))
peer.on('final', ({ code }) => {
  if (code === 'gone') return
  tell('final', { code })
  process.exit(0)
})

async function show (stream) {
  for await (const { kind, lease, ...event } of stream) {
    const { type, id, n, body, topic, attempt, seq, key } = event
    if (kind === 'lease') leases.set(seq, lease)
    if (kind === 'request') requests.set(id, event)
    if (kind === 'lease') tell('lease', { seq, attempt, type, key, id, body })
    else if (kind === 'mail') tell('mail', { seq: lease.seq, mail: seq, type, body })
    else if (kind === 'lost') tell('lost', { seq })
    else if (kind === 'request') tell('request', { id, type, body })
    else if (kind === 'entry') tell('entry', { topic, n, type, body })
    else if (kind === 'end') tell('end', { topic, n })
  }
}

//  The loop of a stream ends by its refusal, which is told as the event is
const thrown = (address) => ({ code }) => peer.final ?? tell('thrown', { address, code })

const parts = (list = []) => list.map(({ type, to, body, ...more }) => part(type, to, body, more))
const verbs = {
  connect: ({ timeout_ms: timeoutMs }) => peer.connected(timeoutMs).then(() => ({})),
  request: ({ to, type, body, timeout_ms: timeoutMs }) => peer.request(to, type, body, { timeoutMs, withType: true }),
  send: ({ to, type, body, ...more }) => peer.send(to, type, body, more).then((seq) => ({ seq })),
  commit: ({ id, parts: list }) => peer.commit(parts(list), id).then((seq) => ({ seq })),
  publish: ({ topic, type, body }) => peer.publish(topic, type, body),
  subscribe: ({ topic, from }) => { show(peer.subscribe(topic, { from })).catch(thrown(`topic:${topic}`)) },
  unsubscribe: ({ topic }) => peer.unsubscribe(topic),
  serve: ({ service, slots }) => { show(peer.serve(service, { slots })).catch(thrown(`service:${service}`)) },
  'lease.commit': ({ seq, parts: list, take }) => leases.get(seq).commit(parts(list), take).then((first) => ({ seq: first })),
  'lease.done': ({ seq, parts: list, take }) => leases.get(seq).done(parts(list), take).then((first) => ({ seq: first })),
  release: ({ seq, delay_ms: delayMs, clean, reject }) => leases.get(seq).release({ delayMs, clean, reject }),
  reply: ({ re, type, body }) => peer.reply(requests.get(re), type, body)
}

const input = createInterface({ input: process.stdin })
input.on('line', (line) => {
  const { do: verb, tag, ...command } = JSON.parse(line)
  Promise.resolve(verbs[verb](command)).then(
    (answer) => answer && tell('answer', { tag, code: 'ok', ...answer }),
    ({ code, reason }) => tell('answer', { tag, code, reason }))
})
input.on('close', () => peer.close())
