//  Two official-style SDKs of others (grammy, telegraf) run a bot against the fake Bot API: what they take for Telegram is what our adapter
//  is tested with. And what Telegram refuses, the fake refuses: shown by the SDK's own error.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { after, before, test } from 'node:test'

import { Bot, GrammyError, InlineKeyboard, InputFile } from 'grammy'
import { Telegraf } from 'telegraf'

const TOKENS = ['1111:AAgrammyGRAMMYgrammyGRAMMYgrammyGRAM1', '2222:AAtelegrafTELEGRAFtelegrafTELEGRAFte2']
const ANA = 5001
const GROUP = -1001000000001
const FORUM = -1001000000002
let child
let url

const control = async (what) => (await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify(what) })).json()

before(async () => {
  child = spawn('/usr/bin/python3', [resolve(import.meta.dirname, '../fakes/fake_telegram.py'), ...TOKENS.flatMap((token) => ['--token', token])],
    { stdio: ['pipe', 'pipe', 'inherit'] })
  url = await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve))
  await control({ do: 'private', user_id: ANA })
  await control({ do: 'group', chat_id: GROUP })
  await control({ do: 'group', chat_id: FORUM, forum: true })
})

after(() => child.stdin.end())

test('a bot of grammy hears, answers, asks and hears the answer', async () => {
  const bot = new Bot(TOKENS[0], { client: { apiRoot: url } })
  const heard = []
  const done = new Promise((resolve) => {
    bot.command('start', (context) => context.reply('<b>Welcome</b> &amp; hello', { parse_mode: 'HTML' }))
    bot.on('callback_query:data', async (context) => {
      await context.answerCallbackQuery({ text: 'ok' })
      await context.editMessageText('You chose ' + context.callbackQuery.data)
      resolve()
    })
    bot.on('message:text', async (context) => {
      heard.push(context.message.text)
      await context.replyWithChatAction('typing')
      await context.react('👍')
      const sent = await context.reply('Which one?', { reply_markup: new InlineKeyboard().text('A', 'a').text('B', 'b'),
        reply_parameters: { message_id: context.message.message_id } })
      await control({ do: 'press', chat_id: ANA, message_id: sent.message_id, data: 'b' })
    })
  })
  const running = bot.start({ allowed_updates: ['message', 'callback_query'] })
  await control({ do: 'say', chat_id: ANA, text: '/start' })
  await control({ do: 'say', chat_id: ANA, text: 'hello' })
  await done
  await bot.stop()
  await running
  assert.deepEqual(heard, ['hello'])
})

test('grammy sends files, albums and topics', async () => {
  const { api } = new Bot(TOKENS[0], { client: { apiRoot: url } })
  const png = Buffer.concat([Buffer.from('\x89PNG', 'latin1'), Buffer.alloc(100)])
  const sent = await api.sendDocument(ANA, new InputFile(Buffer.from('abc'), 'a.txt'), { caption: '*bold*', parse_mode: 'MarkdownV2' })
  assert.equal(sent.caption, 'bold')
  assert.deepEqual(sent.caption_entities, [{ type: 'bold', offset: 0, length: 4 }])
  const file = await api.getFile(sent.document.file_id)
  assert.equal(await (await fetch(`${url}/file/bot${TOKENS[0]}/${file.file_path}`)).text(), 'abc')
  const album = await api.sendMediaGroup(ANA, [1, 2].map((n) => ({ type: 'photo', media: new InputFile(png, `${n}.png`) })))
  assert.equal(album.length, 2)
  const topic = await api.createForumTopic(FORUM, 'One')
  const message = await api.sendMessage(FORUM, 'in it', { message_thread_id: topic.message_thread_id })
  assert.equal(message.message_thread_id, topic.message_thread_id)
  assert.ok(await api.setMyCommands([{ command: 'help', description: 'Help' }]))
  assert.ok(await api.deleteMessage(ANA, sent.message_id))
})

test('a bot of telegraf hears and answers', async () => {
  const bot = new Telegraf(TOKENS[1], { telegram: { apiRoot: url } })
  const me = await bot.telegram.getMe()
  assert.equal(me.id, 2222)
  const sent = await bot.telegram.sendMessage(ANA, 'from telegraf')
  assert.equal((await bot.telegram.editMessageText(ANA, sent.message_id, undefined, 'changed')).text, 'changed')
  await bot.telegram.sendChatAction(ANA, 'typing')
  assert.equal((await bot.telegram.getChat(GROUP)).title, 'Lab')
  assert.ok(await bot.telegram.setWebhook('https://example.org/x', { secret_token: 'abc' }))
  assert.equal((await bot.telegram.getWebhookInfo()).url, 'https://example.org/x')
  await assert.rejects(bot.telegram.getUpdates(1, 10, 0, undefined), (error) => error.response.error_code === 409)
  assert.ok(await bot.telegram.deleteWebhook())
})

test('what Telegram refuses is refused', async () => {
  const { api } = new Bot(TOKENS[0], { client: { apiRoot: url } })
  const mine = (await api.sendMessage(ANA, 'mine')).message_id
  const theirs = (await control({ do: 'say', chat_id: ANA, text: 'theirs' })).message_id
  const big = await control({ do: 'file', size: 21 << 20 })
  await control({ do: 'private', user_id: 5002 })
  await control({ do: 'block', chat_id: 5002 })
  await control({ do: 'group', chat_id: -5 })
  await control({ do: 'migrated', chat_id: -5, to: GROUP })
  await control({ do: 'group', chat_id: -6 })
  await control({ do: 'kick', chat_id: -6 })
  const text = (n) => new InputFile(Buffer.from('abc'), `${n}.txt`)
  const rows = [
    [400, 'chat not found', () => api.sendMessage(999, 'x')],
    [400, 'message text is empty', () => api.sendMessage(ANA, ' \u200b ')],
    [400, 'message is too long', () => api.sendMessage(ANA, '👍'.repeat(2049))],
    [400, "can't parse entities", () => api.sendMessage(ANA, 'a.b', { parse_mode: 'MarkdownV2' })],
    [400, "can't parse entities", () => api.sendMessage(ANA, '*open', { parse_mode: 'MarkdownV2' })],
    [400, "can't parse entities", () => api.sendMessage(ANA, '<b>open', { parse_mode: 'HTML' })],
    [400, 'ENTITY_BOUNDS_INVALID', () => api.sendMessage(ANA, 'abc', { entities: [{ type: 'bold', offset: 1, length: 9 }] })],
    [400, 'cuts a character', () => api.sendMessage(ANA, '👍x', { entities: [{ type: 'bold', offset: 1, length: 2 }] })],
    [400, 'replied not found', () => api.sendMessage(ANA, 'x', { reply_parameters: { message_id: 9999 } })],
    [400, 'thread not found', () => api.sendMessage(FORUM, 'x', { message_thread_id: 1 })],
    [400, 'BUTTON_DATA_INVALID', () => api.sendMessage(ANA, 'x', { reply_markup: new InlineKeyboard().text('A', 'x'.repeat(65)) })],
    [400, 'message is not modified', () => api.editMessageText(ANA, mine, 'mine')],
    [400, 'message to edit not found', () => api.editMessageText(ANA, 9999, 'x')],
    [400, "message can't be edited", () => api.editMessageText(ANA, theirs, 'x')],
    [400, 'message to delete not found', () => api.deleteMessage(ANA, 9999)],
    [400, "message can't be deleted", () => api.deleteMessage(ANA, theirs)],
    [400, 'REACTION_INVALID', () => api.setMessageReaction(ANA, theirs, [{ type: 'emoji', emoji: '✅' }])],
    [400, 'caption is too long', () => api.sendDocument(ANA, text(1), { caption: 'x'.repeat(1025) })],
    [400, '2-10 are needed', () => api.sendMediaGroup(ANA, [{ type: 'document', media: text(1) }])],
    [400, 'IMAGE_PROCESS_FAILED', () => api.sendPhoto(ANA, text(1))],
    [400, 'wrong file identifier', () => api.sendDocument(ANA, 'nonsense')],
    [400, 'file is too big', () => api.getFile(big)],
    [400, 'wrong file_id', () => api.getFile('nonsense')],
    [400, 'not a forum', () => api.createForumTopic(GROUP, 'x')],
    [400, 'too long', () => api.createForumTopic(FORUM, 'x'.repeat(129))],
    [400, 'BOT_COMMAND_INVALID', () => api.setMyCommands([{ command: 'Not-so', description: 'x' }])],
    [400, 'query is too old', () => api.answerCallbackQuery('nonsense')],
    [400, 'HTTPS URL must be provided', () => api.setWebhook('http://example.org')],
    [400, 'unallowed characters', () => api.setWebhook('https://example.org', { secret_token: 'ä ö' })],
    [400, 'wrong parameter action', () => api.sendChatAction(ANA, 'dancing')],
    [400, 'upgraded to a supergroup', () => api.sendMessage(-5, 'x')],
    [403, 'bot was blocked', () => api.sendMessage(5002, 'x')],
    [403, 'bot was kicked', () => api.sendMessage(-6, 'x')],
    [401, 'Unauthorized', () => new Bot('3333:AAno', { client: { apiRoot: url } }).api.getMe()],
    [404, 'method not found', () => api.raw.makeCoffee()]
  ]
  for (const [code, words, call] of rows) {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof GrammyError, String(error))
      assert.equal(error.error_code, code, error.description)
      assert.match(error.description, new RegExp(words.replace(/[.*+?()]/g, '\\$&')))
      return true
    })
  }
  const migrated = await api.sendMessage(-5, 'x').catch((error) => error)
  assert.equal(migrated.parameters.migrate_to_chat_id, GROUP)
})

test('a second poll ends the first one, and too much is told when to come again', async () => {
  const { api } = new Bot(TOKENS[0], { client: { apiRoot: url } })
  const first = api.getUpdates({ timeout: 30, offset: 100000 }).catch((error) => error)
  await control({ do: 'fault', method: 'getMe', action: '429:3', times: 1 })
  const wait = await api.getMe().catch((error) => error)
  assert.deepEqual([wait.error_code, wait.parameters.retry_after], [429, 3])
  await api.getUpdates({ timeout: 0, offset: 100000 })
  assert.equal((await first).error_code, 409)
})
