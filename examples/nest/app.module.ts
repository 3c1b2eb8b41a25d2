import { Module } from '@nestjs/common';
import { sqliteStore } from 'hookplane';
import { HookplaneModule } from 'hookplane/nest';
import { AuthModule, AuthService } from './auth.js';
import { OrdersModule } from './orders.js';

@Module({
  imports: [
    HookplaneModule.forRootAsync({
      imports: [AuthModule],
      inject: [AuthService],
      useFactory: (auth: AuthService) => ({
        store: sqliteStore({ file: process.env.HOOKPLANE_FILE ?? 'hookplane.sqlite' }),
        // Guards do not see the requests of the control plane: the service that they ask is asked here.
        authorize: (request) => {
          const user = auth.userOf(request.headers.get('authorization'));
          if (!user) return { allow: false, status: 401 };
          return user.role === 'operator' || { allow: true, tenantId: user.orgId };
        },
      }),
    }),
    OrdersModule,
  ],
})
export class AppModule {}
