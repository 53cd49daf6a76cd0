"""Writes the marshalling code of commands (X-commands.c) and the table of all of them."""
import json


class CommandWriter:
    def __init__(self, types, prefix):
        self.types, self.prefix = types, prefix

    def source(self, module):
        out = ['/* Written by qapi/gen.py from %s.json; do not edit. */' % module.name,
               '#include "%s%s.h"' % (self.prefix, module.name), '']
        for call in module.entities:
            if call.meta == 'command':
                out += self.marshal(call)
        return '\n'.join(out)

    def prototype(self, call):
        return ('bool qapi_run_%s(struct machine *m, JsonObject *in, JsonNode **ret, GError **err)'
                % call.c)

    def marshal(self, call):
        raw = call.expr.get('gen', True) is False
        returns = call.expr.get('returns')
        descriptor = '&' + self.types.call_struct(call)[1] if self.types.call_struct(call)[1] \
            else '&qapi_no_members_type'
        out = [self.prototype(call) + ';', self.prototype(call), '{']
        read, clear, arg = self.arguments(call, descriptor, raw, out)
        if returns:
            out.append('\t%s = 0;' % ('JsonNode *result' if raw
                                      else self.types.declare(returns, 'result')))
        out += ['\tGError *failed = NULL;', ''] + read
        out.append('\t%sqmp_%s(m%s, &failed);' % ('result = ' if returns else '', call.c, arg))
        out += clear
        if returns:
            kind = '&qapi_any_type' if raw else '&' + self.types.descriptor(returns)
            out.append('\treturn qapi_command_finish(%s, &result, failed, ret, err);' % kind)
        else:
            out.append('\treturn qapi_command_finish(NULL, NULL, failed, ret, err);')
        return out + ['}', '']

    @staticmethod
    def arguments(call, descriptor, raw, out):
        """Statements that read and clear the arguments, and how they are passed on."""
        if raw:
            return [], [], ', in'
        has_data = descriptor != '&qapi_no_members_type'
        tag = descriptor[1:-len('_type')] if has_data else 'qapi_no_members'
        out.append('\tstruct %s args = { 0 };' % tag)
        read = ['\tif (!qapi_struct_read(%s, in, &args, err))' % descriptor, '\t\treturn false;']
        clear = ['\tqapi_struct_clear(%s, &args);' % descriptor]
        if call.expr.get('pass') == 'json':
            return read + clear, [], ', in'
        return read, clear if has_data else [], ', &args' if has_data else ''

    def table(self, name, commands, events, introspection):
        commands = sorted(commands, key=lambda c: c.name.encode())
        out = ['/* Written by qapi/gen.py; do not edit. */', '#include "qapi/command.h"', '']
        out += [self.prototype(c) + ';' for c in commands]
        out += ['extern const struct qapi_event qapi_event_%s;' % e.c for e in events]
        out += ['', 'static const struct qapi_command commands[] = {']
        for c in commands:
            flags = [f for key, f in (('allow-oob', 'QAPI_COMMAND_OOB'),
                                      ('allow-preconfig', 'QAPI_COMMAND_PRECONFIG'))
                     if c.expr.get(key)]
            out.append('\t{ "%s", qapi_run_%s, %s },' % (c.name, c.c, ' | '.join(flags) or '0'))
        out += ['};', '', 'static const struct qapi_event *const events[] = {']
        out += ['\t&qapi_event_%s,' % e.c for e in events] + ['\tNULL', '};', '']
        out.append('static const char introspection[] =')
        text = json.dumps(introspection, separators=(',', ':'))
        for at in range(0, len(text), 80):
            out.append('\t"%s"' % text[at:at + 80].replace('\\', '\\\\').replace('"', '\\"'))
        out[-1] += ';'
        return '\n'.join(out + [
            '', 'const struct qapi_interface %s = {' % name,
            '\t.commands = commands, .ncommands = %d,' % len(commands),
            '\t.events = events, .nevents = %d,' % len(events),
            '\t.introspection = introspection,', '};', ''])
