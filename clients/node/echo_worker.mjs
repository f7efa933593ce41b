#!/usr/bin/env node
//  A complete worker: answers requests, and works off durable messages, each once.
//
//    echo_worker.mjs [--home DIR | --endpoint E] [--key FILE] [SERVICE]
//
//  A request is answered with its own body. A durable message is done with a commit that keeps an entry on the topic of the service's name:
//  consuming it and saying so is one transaction, so after a crash anywhere it is said once. Kill it at any time and start it again.

import { parseArgs } from 'node:util'
import { connect, part } from './argos.mjs'

const text = { type: 'string' }
const { values, positionals: [service = 'echo'] } = parseArgs({ options: { home: text, endpoint: text, key: text }, allowPositionals: true })
const name = process.env.ARGOS_NAME ?? service // Without a key, a peer may serve what bears its name
const peer = await connect({ name, ...values })
process.on('SIGTERM', () => peer.close().then(() => process.exit(0)))
const work = peer.serve(service, { slots: 8 })
console.log(`serving ${service} as ${name}`)

try {
  for await (const { kind, lease, ...event } of work) {
    if (kind === 'request') peer.reply(event, 'echo.reply', event.body)
    else if (kind === 'lease' && lease.type !== 'echo.job') lease.release({ reject: 'invalid' }) // It can never be done: a dead letter
    else if (kind === 'lease') {
      lease.done([part('echo.done', `topic:${service}`, { attempt: lease.attempt, job: lease.body })]).catch((refused) => console.error(refused.message))
    }
  }
} catch (refused) { // The serve, or this instance is over
  console.error(`echo_worker: ${refused.message}`)
  process.exit(1)
}
